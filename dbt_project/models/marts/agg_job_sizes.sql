with

attempts as (

    select * from {{ ref('fct_attempts') }}
    where is_terminal

),

sizes as (

    select
        cluster_id,
        gpu_size_bin,
        count(*) as job_count,
        count(started_at) as started_count,
        sum(gpu_count * runtime_seconds) as gpu_seconds
    from attempts
    group by cluster_id, gpu_size_bin

),

totals as (

    select
        cluster_id,
        sum(job_count) as job_count,
        sum(gpu_seconds) as gpu_seconds
    from sizes
    group by cluster_id

)

select
    sizes.cluster_id,
    sizes.gpu_size_bin,
    sizes.job_count,
    sizes.job_count / totals.job_count as job_ratio,
    sizes.started_count,
    sizes.gpu_seconds / 3600 as gpu_hours,
    sizes.gpu_seconds / nullif(totals.gpu_seconds, 0) as gpu_time_ratio
from sizes
inner join totals on sizes.cluster_id = totals.cluster_id
