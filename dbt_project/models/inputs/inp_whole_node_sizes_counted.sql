with clusters as (
    select
        cluster_id,
        gpus_per_node
    from {{ ref('dim_clusters') }}
),

sizes as (
    select
        cluster_id,
        gpu_size_bin,
        cast(sum(node_days) as double) as node_days,
        cast(sum(exposure_seconds_with_nodes) as double) / 86400 as runtime_days
    from {{ ref('inp_exposure_days_summed') }}
    where is_whole_node and gpu_size_bin is not null
    group by cluster_id, gpu_size_bin
),

failed_attempts as (
    select * replace (coalesce(incident_id, attempt_id) as incident_id)
    from {{ ref('inp_exposures_failed') }}
    where failure_probability > 0 and is_whole_node and gpu_size_bin is not null and node_days is not null
),

failures as (
    {{ incident_counts('failed_attempts', ['cluster_id', 'gpu_size_bin']) }}
),

counts as (
    select
        cluster_id,
        cast(sum(exposed_count) as bigint) as attempt_count,
        cast(sum(if(gpu_size_bin is null, exposed_count, exposed_without_nodes_count)) as bigint)
            as unknown_size_count
    from {{ ref('inp_exposure_days_summed') }}
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
