-- What was wrong with the lemons: the component that most of their tickets name. One row per cluster and component.
select
    cluster_id,
    -- Keep the reason after "unknown"; drop the list of tickets after a component.
    if(root_cause like 'unknown%', root_cause, split_part(root_cause, ' (', 1)) as component,
    count(*) as node_count,
    node_count / sum(node_count) over (partition by cluster_id) as node_ratio
from estimates.est_lemon_nodes
where verdict = 'lemon'
group by cluster_id, component
order by cluster_id, node_count desc, component
