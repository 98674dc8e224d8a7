with

attempts as (

    select * from {{ ref('int_attempts_chained') }}

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
    attempts.run_id,
    cast(attempts.attempt_number as integer) as attempt_number,
    cast(attempts.run_attempt_number as integer) as run_attempt_number,
    attempts.is_last_of_run,
    attempts.previous_attempt_id_of_run as previous_attempt_id,
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
    attempts.job_gpu_count,
    attempts.gpu_count_source,
    attempts.requested_gpu_count,
    attempts.gpu_type,
    attempts.cpu_count,
    attempts.gpu_count * attempts.runtime_seconds / 3600 as gpu_hours,
    attempts.node_count * attempts.runtime_seconds / 86400 as node_days,
    {{ gpu_size_bin('attempts.job_gpu_count') }} as gpu_size_bin,
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
    planned_ends.end_reason,
    attempts.warnings,
    attempts.source_path,
    attempts.source_line_number
from attempts
left join failures on attempts.attempt_id = failures.attempt_id
left join planned_ends on attempts.attempt_id = planned_ends.attempt_id
