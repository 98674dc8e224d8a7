-- Suspects of hidden failures, the surest first; GPUs held without use; and for each cluster the compared nodes, the
-- odds detectable on the median node (unknown: none), and the share of nodes on which four times the odds are
-- detectable, both for the kind of ends that shows less. One row per suspect, one of idle GPUs, and one per cluster
-- without a suspect.
with powers as (
    select
        cluster_id,
        kind,
        median(coalesce(detectable_effect, 'infinity')) as detectable_effect,
        avg(if(detectable_effect <= 4, 1, 0)) as found_share
    from estimates.est_hidden_failures
    where node_id is not null
    group by cluster_id, kind
),

least as (
    select
        cluster_id,
        max(detectable_effect) as median_effect,
        min(found_share) as found_share
    from powers
    group by cluster_id
)

select
    hidden.*,
    nodes.node_name,
    nullif(least.median_effect, 'infinity') as median_effect,
    least.found_share,
    4.0 as largest_odds,
    hidden.held_gpu_hours / nullif(hidden.exposure, 0) as held_ratio,
    count(distinct hidden.node_id) filter (where hidden.method <> 'not_compared')
        over (partition by hidden.cluster_id) as compared_count
from estimates.est_hidden_failures as hidden
left join marts.dim_nodes as nodes using (cluster_id, node_id)
left join least using (cluster_id)
qualify
    hidden.is_suspect
    or hidden.kind = 'idle_gpus'
    or row_number() over (partition by hidden.cluster_id order by hidden.is_suspect desc, hidden.kind) = 1
order by hidden.is_suspect desc, hidden.q_value nulls last, hidden.low desc, hidden.kind, hidden.node_id
