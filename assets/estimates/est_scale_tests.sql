-- Failures, node-days and hours run of each cluster and job size, for attempts that fill whole nodes.
-- An attempt on part of a node is charged with all of it, so that node-days of small sizes measure something else.
with clusters as (
    select
        cluster_id,
        gpus_per_node
    from marts.dim_clusters
),

attempts as (
    select
        fct_attempts.cluster_id,
        fct_attempts.gpu_size_bin,
        fct_attempts.node_days,
        fct_attempts.runtime_seconds,
        coalesce(fct_attempts.is_infrastructure_failure, false) as is_failure,
        fct_attempts.gpu_count is null as is_size_unknown,
        fct_attempts.gpu_count >= clusters.gpus_per_node and clusters.gpus_per_node > 0 as is_whole_node
    from marts.fct_attempts
    inner join clusters using (cluster_id)
    where
        fct_attempts.is_terminal
        and (fct_attempts.node_days is not null or fct_attempts.gpu_count is null)
),

-- summed as decimals: exactly, so that the sum does not depend on the order in which threads deliver it
sizes as (
    select
        cluster_id,
        gpu_size_bin,
        count(*) filter (where is_failure) as failure_count,
        cast(sum(cast(node_days as decimal(38, 9))) as double) as node_days,
        cast(sum(runtime_seconds) as double) / 86400 as runtime_days
    from attempts
    where is_whole_node
    group by cluster_id, gpu_size_bin
),

counts as (
    select
        cluster_id,
        count(*) as attempt_count,
        count(*) filter (where is_size_unknown) as unknown_size_count
    from attempts
    group by cluster_id
)

select
    clusters.cluster_id,
    sizes.gpu_size_bin,
    sizes.failure_count,
    sizes.node_days,
    sizes.node_days / nullif(sizes.runtime_days, 0) as node_count,
    coalesce(clusters.gpus_per_node, 0) > 0 as has_gpus_per_node,
    coalesce(counts.attempt_count, 0) as attempt_count,
    coalesce(counts.unknown_size_count, 0) as unknown_size_count
from clusters
left join sizes
    on
        clusters.cluster_id = sizes.cluster_id
        and sizes.node_days > 0
        and sizes.runtime_days > 0
left join counts on clusters.cluster_id = counts.cluster_id
order by clusters.cluster_id, sizes.gpu_size_bin
