with

failures as (

    select * from {{ ref('fct_failures') }}

),

attempts as (

    select * from {{ ref('fct_attempts') }}
    where is_terminal

),

limits as (

    select * from {{ fitted_table('int_failure_counts_bounded') }}

),

exposures as (

    select
        cluster_id,
        sum(gpu_count * runtime_seconds) / 3600 as gpu_hours
    from attempts
    group by cluster_id

),

causes as (

    select
        cluster_id,
        failure_category,
        count(*) as failure_count,
        {{ exact_sum('posterior_probability') }} as expected_failure_count,
        {{ exact_sum('posterior_probability * lost_gpu_hours') }} as expected_lost_gpu_hours
    from failures
    group by cluster_id, failure_category

),

bounded as (

    select
        causes.cluster_id,
        causes.failure_category,
        causes.failure_count,
        causes.expected_failure_count,
        causes.expected_lost_gpu_hours,
        nullif(exposures.gpu_hours, 0) as gpu_hours,
        limits.failure_count_low,
        limits.failure_count_high
    from causes
    inner join exposures on causes.cluster_id = exposures.cluster_id
    left join limits on causes.failure_count = limits.failure_count

)

select
    cluster_id,
    failure_category,
    failure_count,
    expected_failure_count,
    gpu_hours,
    failure_count / gpu_hours as failures_per_gpu_hour,
    failure_count_low / gpu_hours as failures_per_gpu_hour_low,
    failure_count_high / gpu_hours as failures_per_gpu_hour_high,
    cast(0.9 as double) as confidence_level,
    expected_lost_gpu_hours
from bounded
