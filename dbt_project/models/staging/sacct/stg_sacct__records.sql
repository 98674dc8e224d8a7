with

records as (

    select * from {{ source_table('raw', 'sacct') }}
    where disposition = 'loaded'

),

-- Slices of an attempt in a truncated export, before the window in which it was last seen.
slices as (

    select
        cluster_id,
        job_id_raw,
        submitted_at,
        min(started_at) as started_at,
        sum(suspended_seconds) as suspended_seconds,
        sum(case
            when ended_at is null then coalesce(suspended_seconds, 0)
            else {{ seconds_between('started_at', 'ended_at') }} - elapsed_seconds
        end) as idle_seconds
    from {{ source_table('raw', 'sacct') }}
    where disposition = 'coalesced'
    group by cluster_id, job_id_raw, submitted_at

)

select
    records.cluster_id,
    records.path as source_path,
    records.line_number as source_line_number,
    records.job_id,
    records.job_id_raw,
    records.array_job_id,
    records.array_task_id,
    records.het_job_id,
    records.het_offset,
    records.db_index,
    records.sluid,
    records.user_name,
    records.uid as user_uid,
    records.account,
    records.partition,
    records.qos,
    records.job_name,
    records.submitted_at,
    records.eligible_at,
    coalesce(slices.started_at, records.started_at) as started_at,
    records.ended_at,
    records.time_quality,
    records.elapsed_seconds + coalesce({{ round_to_integer(
        seconds_between('slices.started_at', 'records.started_at') ~ ' - slices.idle_seconds'
    ) }}, 0) as elapsed_seconds,
    cast(records.suspended_seconds + coalesce(slices.suspended_seconds, 0) as bigint) as suspended_seconds,
    records.state,
    records.state_raw,
    records.cancelled_by_uid,
    records.exit_code,
    records.exit_signal,
    records.derived_exit_code,
    records.derived_exit_signal,
    records.node_ids,
    records.requested_node_count,
    records.gpu_count,
    records.gpu_count_source,
    records.gpu_type,
    records.requested_gpu_count,
    records.cpu_count,
    records.requested_memory_mib,
    records.time_limit_seconds,
    records.restart_count,
    records.failed_node_id,
    records.pending_reason,
    records.flags,
    records.submit_line,
    records.excluded_node_ids,
    records.warnings,
    records.gpu_utilisation
from records
left join slices
    on
        records.cluster_id = slices.cluster_id
        and records.job_id_raw = slices.job_id_raw
        and records.submitted_at = slices.submitted_at
        -- Leave out the attempt that was requeued in the second of that submission.
        and records.started_at > slices.started_at
