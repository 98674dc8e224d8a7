with

failures as (

    select * from {{ ref('fct_failures') }}

),

attempts as (

    select * from {{ ref('int_attempts') }}
    where is_terminal

),

exposures as (

    select
        cluster_id,
        nullif(sum(gpu_count * runtime_seconds), 0) / 3600 as gpu_hours
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

)

select
    causes.cluster_id,
    causes.failure_category,
    causes.failure_count,
    causes.expected_failure_count,
    exposures.gpu_hours,
    causes.failure_count / exposures.gpu_hours as failures_per_gpu_hour,
    cast(0.9 as double) as confidence_level,
    causes.expected_lost_gpu_hours
from causes
inner join exposures on causes.cluster_id = exposures.cluster_id
