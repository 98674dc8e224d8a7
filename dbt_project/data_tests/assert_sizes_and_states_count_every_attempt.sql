{{ config(meta={'dagster': {'ref': {'name': 'agg_job_states'}}}) }}

with

attempts as (

    select
        cluster_id,
        count(*) as attempt_count,
        count(case when is_infrastructure_failure then 1 end) as failure_count,
        coalesce(sum(gpu_hours), 0) as gpu_hours
    from {{ ref('fct_attempts') }}
    where is_terminal
    group by cluster_id

),

states as (

    select
        cluster_id,
        sum(case when not is_infrastructure then attempt_count end) as attempt_count,
        sum(case when is_infrastructure then attempt_count end) as failure_count,
        coalesce(sum(case when not is_infrastructure then gpu_hours end), 0) as gpu_hours
    from {{ ref('agg_job_states') }}
    group by cluster_id

),

sizes as (

    select
        cluster_id,
        sum(job_count) as attempt_count,
        coalesce(sum(gpu_hours), 0) as gpu_hours
    from {{ ref('agg_job_sizes') }}
    group by cluster_id

),

causes as (

    select
        cluster_id,
        sum(failure_count) as failure_count
    from {{ ref('agg_failure_rates_by_cause') }}
    group by cluster_id

)

select
    attempts.cluster_id,
    attempts.attempt_count,
    states.attempt_count as attempts_by_state,
    sizes.attempt_count as attempts_by_size,
    attempts.failure_count,
    states.failure_count as failures_by_state,
    causes.failure_count as failures_by_cause,
    attempts.gpu_hours,
    states.gpu_hours as gpu_hours_by_state,
    sizes.gpu_hours as gpu_hours_by_size
from attempts
left join states on attempts.cluster_id = states.cluster_id
left join sizes on attempts.cluster_id = sizes.cluster_id
left join causes on attempts.cluster_id = causes.cluster_id
where
    attempts.attempt_count is distinct from states.attempt_count
    or attempts.attempt_count is distinct from sizes.attempt_count
    or attempts.failure_count is distinct from states.failure_count
    or attempts.failure_count != coalesce(causes.failure_count, 0)
    or abs(attempts.gpu_hours - states.gpu_hours) > 1e-9 * attempts.gpu_hours
    or abs(attempts.gpu_hours - sizes.gpu_hours) > 1e-9 * attempts.gpu_hours
