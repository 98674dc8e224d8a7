{{ config(post_hook='{{ name_tables_by_schema() }}') }}

-- What can be worked out of one row is not stored: hours hardly compress.
with

records as (

    select
        *,
        gpu_count + other_components_gpu_count as job_gpu_count
    from {{ name_table(ref('fct_attempt_records'), by_schema) }}

)

select
    cluster_id,
    attempt_id,
    job_id,
    job_id_raw,
    run_id,
    attempt_number,
    run_attempt_number,
    is_last_of_run,
    previous_attempt_id,
    is_continuation,
    array_job_id,
    array_task_id,
    het_job_id,
    user_name,
    account,
    partition,
    qos,
    job_name,
    submitted_at,
    eligible_at,
    started_at,
    ended_at,
    time_quality,
    {{ queue_seconds('eligible_at', 'started_at') }} as queue_seconds,
    runtime_seconds,
    exposure_seconds,
    elapsed_seconds,
    suspended_seconds,
    time_limit_seconds,
    node_count,
    requested_node_count,
    gpu_count,
    job_gpu_count,
    gpu_count_source,
    requested_gpu_count,
    gpu_type,
    cpu_count,
    gpu_count * runtime_seconds / 3600 as gpu_hours,
    node_count * runtime_seconds / 86400 as node_days,
    {{ gpu_size_bin('job_gpu_count') }} as gpu_size_bin,
    state,
    is_terminal,
    has_ended,
    exit_code,
    exit_signal,
    derived_exit_code,
    derived_exit_signal,
    cancelled_by_uid,
    restart_count,
    pending_reason,
    is_infrastructure_failure,
    failure_category,
    incident_id,
    end_reason,
    warnings,
    source_path,
    source_line_number
from records
