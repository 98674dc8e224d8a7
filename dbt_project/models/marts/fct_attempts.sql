with

chained_jobs as (

    select * from {{ ref('int_jobs_chained') }}

),

het_jobs as (

    select * from {{ ref('int_het_jobs_sized') }}

),

attempts as (

    select * from {{ ref('int_attempts') }}

),

failures as (

    select * from {{ ref('fct_failures') }}

),

planned_ends as (

    select * from {{ ref('int_attempts_interrupted') }}
    where is_planned

)

select
    attempts.cluster_id,
    attempts.attempt_id,
    coalesce(attempts.job_id, cast(attempts.job_id_raw as string)) as job_id,
    attempts.job_id_raw,
    coalesce(chained_jobs.run_id, attempts.job_key) as run_id,
    cast(attempts.attempt_number as integer) as attempt_number,
    cast(
        attempts.attempt_number + coalesce(chained_jobs.earlier_attempt_count, 0) as integer
    ) as run_attempt_number,
    attempts.is_last_of_job and coalesce(chained_jobs.is_last_of_run, true) as is_last_of_run,
    coalesce(attempts.previous_attempt_id, chained_jobs.previous_attempt_id) as previous_attempt_id,
    attempts.is_continuation,
    attempts.array_job_id,
    attempts.array_task_id,
    attempts.het_job_id,
    attempts.user_name,
    attempts.account,
    attempts.partition,
    attempts.qos,
    attempts.job_name,
    {{ cast_whole_seconds('attempts.submitted_at') }} as submitted_at,
    {{ cast_whole_seconds('attempts.eligible_at') }} as eligible_at,
    {{ cast_whole_seconds('attempts.started_at') }} as started_at,
    {{ cast_whole_seconds('attempts.ended_at') }} as ended_at,
    attempts.time_quality,
    attempts.queue_seconds,
    attempts.runtime_seconds,
    attempts.exposure_seconds,
    attempts.elapsed_seconds,
    attempts.suspended_seconds,
    attempts.time_limit_seconds,
    cast(attempts.node_count as integer) as node_count,
    attempts.requested_node_count,
    attempts.gpu_count,
    {{ job_gpu_count('attempts', 'het_jobs') }} as job_gpu_count,
    attempts.gpu_count_source,
    attempts.requested_gpu_count,
    attempts.gpu_type,
    attempts.cpu_count,
    attempts.gpu_count * attempts.runtime_seconds / 3600 as gpu_hours,
    attempts.node_count * attempts.runtime_seconds / 86400 as node_days,
    {{ gpu_size_bin(job_gpu_count('attempts', 'het_jobs')) }} as gpu_size_bin,
    attempts.state,
    attempts.is_terminal,
    attempts.has_ended,
    attempts.exit_code,
    attempts.exit_signal,
    attempts.derived_exit_code,
    attempts.derived_exit_signal,
    attempts.cancelled_by_uid,
    attempts.restart_count,
    attempts.pending_reason,
    attempts.gpu_utilisation,
    failures.attempt_id is not null as is_infrastructure_failure,
    failures.failure_category,
    failures.incident_id,
    case when planned_ends.attempt_id is not null then 'planned' end as end_reason,
    attempts.warnings,
    attempts.source_path,
    attempts.source_line_number
from attempts
left join chained_jobs
    on
        attempts.cluster_id = chained_jobs.cluster_id
        and attempts.job_key = chained_jobs.job_key
left join het_jobs
    on
        attempts.cluster_id = het_jobs.cluster_id
        and attempts.attempt_id = het_jobs.attempt_id
left join failures on attempts.attempt_id = failures.attempt_id
left join planned_ends on attempts.attempt_id = planned_ends.attempt_id
