{{ config(post_hook='{{ name_tables_by_schema() }}') }}

-- Stored are the records. Hours are worked out here, because they hardly compress; failures and planned ends are
-- joined, as few attempts have any.
with

records as (

    select
        *,
        gpu_count + other_components_gpu_count as job_gpu_count
    from {{ name_table(ref('fct_attempt_records'), by_schema) }}

),

failures as (

    select * from {{ name_table(ref('fct_failures'), by_schema) }}

),

planned_ends as (

    select * from {{ name_table(ref('fct_planned_ends'), by_schema) }}

)

select
    records.cluster_id,
    records.attempt_id,
    records.job_id,
    records.job_id_raw,
    records.run_id,
    records.attempt_number,
    records.run_attempt_number,
    records.is_last_of_run,
    records.previous_attempt_id,
    records.is_continuation,
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
    {{ queue_seconds('records.eligible_at', 'records.started_at') }} as queue_seconds,
    records.runtime_seconds,
    records.exposure_seconds,
    records.elapsed_seconds,
    records.suspended_seconds,
    records.time_limit_seconds,
    records.node_count,
    records.requested_node_count,
    records.gpu_count,
    records.job_gpu_count,
    records.gpu_count_source,
    records.requested_gpu_count,
    records.gpu_type,
    records.cpu_count,
    records.gpu_count * records.runtime_seconds / 3600 as gpu_hours,
    records.node_count * records.runtime_seconds / 86400 as node_days,
    {{ gpu_size_bin('records.job_gpu_count') }} as gpu_size_bin,
    records.state,
    records.is_terminal,
    records.has_ended,
    records.exit_code,
    records.exit_signal,
    records.derived_exit_code,
    records.derived_exit_signal,
    records.cancelled_by_uid,
    records.restart_count,
    records.pending_reason,
    records.gpu_utilisation,
    failures.attempt_id is not null as is_infrastructure_failure,
    failures.failure_category,
    failures.incident_id,
    case when planned_ends.attempt_id is not null then 'planned' end as end_reason,
    records.warnings,
    records.source_path,
    records.source_line_number
from records
left join failures on records.attempt_id = failures.attempt_id
left join planned_ends on records.attempt_id = planned_ends.attempt_id
