with

records as (

    select * from {{ ref('int_records_measured') }}

),

numbering as (

    select * from {{ ref('int_attempts_numbered') }}

)

select
    records.cluster_id,
    coalesce(
        numbering.attempt_id, {{ attempt_id('records.cluster_id', 'records.job_id_raw', 'records.submitted_at') }}
    ) as attempt_id,
    coalesce(
        numbering.job_key, {{ attempt_id('records.cluster_id', 'records.job_id_raw', 'records.submitted_at') }}
    ) as job_key,
    numbering.previous_attempt_id,
    records.job_id,
    records.job_id_raw,
    coalesce(numbering.attempt_number, 1) as attempt_number,
    coalesce(numbering.is_last_of_job, true) as is_last_of_job,
    coalesce(numbering.is_continuation, false) as is_continuation,
    records.array_job_id,
    records.array_task_id,
    records.het_job_id,
    records.user_name,
    records.account,
    records.partition,
    records.qos,
    records.job_name,
    records.submitted_at,
    records.eligible_at,
    records.started_at,
    records.ended_at,
    records.time_quality,
    records.elapsed_seconds,
    records.suspended_seconds,
    records.queue_seconds,
    records.runtime_seconds,
    records.state,
    records.is_terminal,
    records.has_ended,
    records.cancelled_by_uid,
    records.exit_code,
    records.exit_signal,
    records.derived_exit_code,
    records.derived_exit_signal,
    records.node_ids,
    records.node_count,
    records.requested_node_count,
    records.gpu_count,
    records.gpu_count_source,
    records.gpu_type,
    records.requested_gpu_count,
    records.cpu_count,
    records.time_limit_seconds,
    records.restart_count,
    records.failed_node_id,
    records.pending_reason,
    records.warnings,
    records.source_path,
    records.source_line_number,
    records.gpu_hours,
    records.node_days,
    records.gpu_size_bin
from records
left join numbering
    on
        records.source_path = numbering.source_path
        and records.source_line_number = numbering.source_line_number
