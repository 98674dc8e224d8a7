-- Failures, node-days and hours run of each cluster and job size, for attempts that fill whole nodes.
-- An attempt on part of a node is charged with all of it, so that node-days of small sizes measure something else.
with clusters as (
    select
        cluster_id,
        gpus_per_node
    from marts.dim_clusters
),

sizes as (
    select
        cluster_id,
        gpu_size_bin,
        cast(sum(node_days) as double) as node_days,
        cast(sum(exposure_seconds_with_nodes) as double) / 86400 as runtime_days
    from intermediate.exposure_days
    where is_whole_node and gpu_size_bin is not null
    group by cluster_id, gpu_size_bin
),

-- Summed as decimals: exactly, so that the sum does not depend on the order in which threads deliver it. An incident of
-- probability w that takes m attempts of a size if it is real adds w m^2 (2 - w) to the variance.
incidents as (
    select
        cluster_id,
        gpu_size_bin,
        sum(cast(failure_probability as decimal(28, 12))) as failure_count,
        cast(sum(cast(failure_probability as decimal(38, 15))) as double) ** 2
        / max(failure_probability) * (2 - max(failure_probability)) as variance
    from intermediate.failed_exposures
    where failure_probability > 0 and is_whole_node and gpu_size_bin is not null and node_days is not null
    group by cluster_id, gpu_size_bin, coalesce(incident_id, attempt_id)
),

failures as (
    select
        cluster_id,
        gpu_size_bin,
        cast(sum(failure_count) as double) as failure_count,
        cast(sum(cast(variance as decimal(28, 9))) as double) as failure_variance
    from incidents
    group by cluster_id, gpu_size_bin
),

counts as (
    select
        cluster_id,
        cast(sum(exposed_count) as bigint) as attempt_count,
        cast(sum(if(gpu_size_bin is null, exposed_count, exposed_without_nodes_count)) as bigint)
            as unknown_size_count
    from intermediate.exposure_days
    group by cluster_id
)

select
    clusters.cluster_id,
    sizes.gpu_size_bin,
    if(sizes.cluster_id is not null, coalesce(failures.failure_count, 0), null) as failure_count,
    coalesce(failures.failure_variance, 0) as failure_variance,
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
left join failures
    on
        sizes.cluster_id = failures.cluster_id
        and sizes.gpu_size_bin = failures.gpu_size_bin
left join counts on clusters.cluster_id = counts.cluster_id
order by clusters.cluster_id, sizes.gpu_size_bin
