-- Accounting identity: runs have the attempts, GPU time and scheduled time of their attempts, by cluster.
{{ config(tags=['judged_with_the_code'], meta={'dagster': {'ref': {'name': 'fct_job_runs'}}}) }}

with

runs as (

    select
        cluster_id,
        sum(attempt_count) as attempt_count,
        sum(infrastructure_failure_count) as failure_count,
        coalesce(sum(gpu_hours), 0) as gpu_hours,
        sum(scheduled_hours) as scheduled_hours,
        sum(queue_hours) as queue_hours,
        bool_and(queue_hours is not null) as is_queue_known
    from {{ ref('fct_job_runs') }}
    group by cluster_id

),

attempts as (

    select
        cluster_id,
        count(*) as attempt_count,
        count(case when is_infrastructure_failure then 1 end) as failure_count,
        coalesce(sum(gpu_hours), 0) as gpu_hours,
        coalesce(sum(exposure_seconds), 0) / 3600 as scheduled_hours,
        coalesce(sum(queue_seconds), 0) / 3600 as queue_hours
    from {{ ref('fct_attempts') }}
    group by cluster_id

)

select
    attempts.*,
    runs.*
from attempts
full outer join runs on attempts.cluster_id = runs.cluster_id
where
    attempts.attempt_count is distinct from runs.attempt_count
    or attempts.failure_count is distinct from runs.failure_count
    or abs(attempts.gpu_hours - runs.gpu_hours) > 1e-6 * (1 + attempts.gpu_hours)
    or abs(attempts.scheduled_hours - runs.scheduled_hours) > 1e-6 * (1 + attempts.scheduled_hours)
    or (
        runs.is_queue_known
        and abs(attempts.queue_hours - runs.queue_hours) > 1e-6 * (1 + attempts.queue_hours)
    )
