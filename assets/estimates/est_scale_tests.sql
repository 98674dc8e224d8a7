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
        cluster_id,
        gpu_size_bin,
        node_days,
        exposure_seconds,
        failure_probability,
        coalesce(incident_id, attempt_id) as incident_id,
        gpu_size_bin is null or node_days is null as is_size_unknown,
        coalesce(is_whole_node and gpu_size_bin is not null and node_days is not null, false) as is_whole_node
    from marts.fct_attempt_exposures
    where exposure_seconds > 0 or failure_probability > 0
),

-- summed as decimals: exactly, so that the sum does not depend on the order in which threads deliver it
sizes as (
    select
        cluster_id,
        gpu_size_bin,
        cast(sum(cast(failure_probability as decimal(28, 12))) as double) as failure_count,
        cast(sum(cast(node_days as decimal(38, 9))) as double) as node_days,
        cast(sum(cast(exposure_seconds as decimal(38, 6))) as double) / 86400 as runtime_days
    from attempts
    where is_whole_node
    group by cluster_id, gpu_size_bin
),

-- w m^2 (2 - w) of an incident of probability w that takes m attempts of a size if it is real
incidents as (
    select
        cluster_id,
        gpu_size_bin,
        cast(sum(cast(failure_probability as decimal(38, 15))) as double) ** 2
        / max(failure_probability) * (2 - max(failure_probability)) as variance
    from attempts
    where is_whole_node and failure_probability > 0
    group by cluster_id, gpu_size_bin, incident_id
),

variances as (
    select
        cluster_id,
        gpu_size_bin,
        cast(sum(cast(variance as decimal(28, 9))) as double) as failure_variance
    from incidents
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
    coalesce(variances.failure_variance, 0) as failure_variance,
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
left join variances
    on
        sizes.cluster_id = variances.cluster_id
        and sizes.gpu_size_bin is not distinct from variances.gpu_size_bin
left join counts on clusters.cluster_id = counts.cluster_id
order by clusters.cluster_id, sizes.gpu_size_bin
