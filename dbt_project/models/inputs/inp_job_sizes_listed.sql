with clusters as (
    select
        clusters.cluster_id,
        clusters.gpu_count,
        clusters.gpu_node_count,
        if(clusters.gpus_per_node > 0, clusters.gpus_per_node, null) as gpus_per_node,
        settings.restart_minutes,
        settings.write_minutes
    from {{ ref('dim_clusters') }} as clusters
    left join {{ ref('stg_config__clusters') }} as settings using (cluster_id)
),

largest_jobs as (
    select
        cluster_id,
        max(job_gpu_count) as gpu_count
    from {{ ref('fct_attempts') }}
    where started_at is not null
    group by cluster_id
),

powers as (
    select cast(power(2, exponents.exponent) as bigint) as gpu_count
    from range(3, 18) as exponents (exponent)
),

sizes as (
    select
        clusters.cluster_id,
        powers.gpu_count
    from clusters
    cross join powers
    union
    select
        cluster_id,
        cast(gpu_count as bigint) as gpu_count
    from clusters
    where gpu_count > 0
    union
    select
        clusters.cluster_id,
        cast(largest_jobs.gpu_count as bigint) as gpu_count
    from clusters
    inner join largest_jobs using (cluster_id)
    where largest_jobs.gpu_count > 0
)

select
    sizes.cluster_id,
    sizes.gpu_count,
    powers.gpu_count is not null as is_power_of_two,
    coalesce(sizes.gpu_count = clusters.gpu_count, false) as is_cluster_size,
    coalesce(sizes.gpu_count = largest_jobs.gpu_count, false) as is_largest_job,
    clusters.gpus_per_node,
    clusters.gpu_count as fleet_gpu_count,
    clusters.gpu_node_count as fleet_node_count,
    coalesce(clusters.restart_minutes, 5) as restart_minutes,
    if(clusters.write_minutes > 0, clusters.write_minutes, 5) as write_minutes,
    if(clusters.gpus_per_node is null, 'GPUs per node unknown', null) as note,
    if(coalesce(clusters.write_minutes, 0) = 0, 'write time not configured: 5 minutes assumed', null) as note_on_writes
from sizes
inner join clusters using (cluster_id)
left join largest_jobs using (cluster_id)
left join powers on sizes.gpu_count = powers.gpu_count
