-- Failures and node-days of each cluster, population and way of counting, inside its study period.
with counts as (
    select * from intermediate.failure_counts
    semi join marts.dim_clusters using (cluster_id)
    where month_date is null
),

-- Exposure alone decides which rate is quoted. Where failures had a say, a cluster whose large jobs never failed would
-- be quoted by those that did. Jobs that share nodes are each charged with all of them, while a node's failure ends one
-- of the jobs on it: large jobs are quoted where nine tenths of their node-days or more are not known to be shared.
reference as (
    select
        cluster_id,
        case
            when
                max(node_days - shared_node_days) filter (where population = 'gpus_gt_128' and not is_unknowable)
                >= greatest(300, 0.9 * max(node_days) filter (where population = 'gpus_gt_128'))
                then 'gpus_gt_128'
            when max(node_days) filter (where population = 'whole_nodes' and not is_unknowable) >= 300
                then 'whole_nodes'
            when max(node_days) filter (where population = 'nodes') > 0 then 'nodes'
            else 'all'
        end as population
    from counts
    group by cluster_id
)

select
    counts.* exclude (is_lower_bound),
    counts.is_lower_bound and coalesce(evidence.low < 0.9, true) as is_lower_bound,
    counts.population = reference.population
    and counts.counted_as = if(reference.population = 'nodes', 'incidents', 'attempts') as is_reference
from counts
inner join reference using (cluster_id)
left join estimates.est_evidence_reach as evidence
    on counts.cluster_id = evidence.cluster_id and evidence.month_date is null
order by counts.cluster_id, counts.population, counts.counted_as
