with

records as (

    select * from {{ source_table('raw', 'sacct') }}
    where disposition = 'loaded'

)

select
    cluster_id,
    path as source_path,
    line_number as source_line_number,
    job_id,
    job_id_raw,
    array_job_id,
    array_task_id,
    het_job_id,
    het_offset,
    db_index,
    sluid,
    user_name,
    uid as user_uid,
    account,
    partition,
    qos,
    job_name,
    submitted_at,
    eligible_at,
    started_at,
    ended_at,
    time_quality,
    elapsed_seconds,
    suspended_seconds,
    state,
    state_raw,
    cancelled_by_uid,
    exit_code,
    exit_signal,
    derived_exit_code,
    derived_exit_signal,
    node_ids,
    requested_node_count,
    gpu_count,
    gpu_count_source,
    gpu_type,
    requested_gpu_count,
    cpu_count,
    requested_memory_mib,
    time_limit_seconds,
    restart_count,
    failed_node_id,
    pending_reason,
    flags,
    submit_line,
    excluded_node_ids,
    warnings,
    gpu_utilisation
from records
