with

records as (

    select * from {{ ref('stg_sacct__records') }}

),

gpu_counts as (

    select * from {{ ref('int_gpu_counts') }}

),

numbering as (

    select * from {{ ref('int_attempts_numbered') }}

),

-- Later segments of a resized job repeat the first segment's Start. They begin at their submission.
timed_records as (

    select
        records.*,
        -- The condition is needed: greatest() passes over NULL, and a job that never started would get a start.
        case
            when records.started_at is not null then greatest(records.started_at, records.submitted_at)
        end as segment_started_at,
        -- An export without NodeList still has the number of a job's allocated nodes.
        case
            when {{ list_length('records.node_ids') }} > 0 or records.started_at is null
                then {{ list_length('records.node_ids') }}
            when records.elapsed_seconds = 0 then 0
            else records.requested_node_count
        end as node_count,
        records.ended_at is not null as has_ended,
        records.ended_at is not null
        and records.state in (
            'COMPLETED', 'FAILED', 'CANCELLED', 'TIMEOUT', 'NODE_FAIL', 'PREEMPTED', 'BOOT_FAIL', 'DEADLINE',
            'OUT_OF_MEMORY', 'REQUEUED', 'REQUEUE_HOLD', 'SPECIAL_EXIT', 'REVOKED', 'RESIZING'
        ) as is_terminal,
        case when gpu_counts.source_path is null then records.gpu_count else gpu_counts.gpu_count end as told_gpu_count,
        coalesce(
            gpu_counts.gpu_count_source,
            case when records.gpu_count is null then 'unknown' else records.gpu_count_source end
        ) as told_gpu_count_source,
        coalesce(
            numbering.attempt_id, {{ attempt_id('records.cluster_id', 'records.job_id_raw', 'records.submitted_at') }}
        ) as attempt_id,
        numbering.job_key,
        numbering.previous_attempt_id,
        coalesce(numbering.attempt_number, 1) as attempt_number,
        coalesce(numbering.is_last_of_job, true) as is_last_of_job,
        coalesce(numbering.is_continuation, false) as is_continuation
    from records
    left join gpu_counts
        on
            records.source_path = gpu_counts.source_path
            and records.source_line_number = gpu_counts.source_line_number
    left join numbering
        on
            records.source_path = numbering.source_path
            and records.source_line_number = numbering.source_line_number

),

measured_records as (

    select
        *,
        case
            when not has_ended then null
            when segment_started_at is null then 0
            -- The elapsed time of a later segment is that of all segments: subtract suspension from its own span.
            else {{ round_to_integer(
                'greatest(0, least(elapsed_seconds, '
                ~ seconds_between('segment_started_at', 'ended_at')
                ~ ' - coalesce(suspended_seconds, 0)))'
            ) }}
        end as runtime_seconds,
        {{ queue_seconds('eligible_at', 'segment_started_at') }} as queue_seconds
    from timed_records

),

-- A suspected runaway job has lost its end: its runtime is unknown.
observed_records as (

    select
        *,
        case
            when has_ended and segment_started_at is not null then ended_at
            when not array_contains(warnings, 'runaway_suspect')
                then greatest(
                    segment_started_at,
                    started_at + {{ seconds_interval('elapsed_seconds + coalesce(suspended_seconds, 0)') }}
                )
        end as observed_until_at
    from measured_records

),

-- A running attempt is exposed to failures until it was last seen.
exposed_records as (

    select
        *,
        case
            when has_ended then runtime_seconds
            when segment_started_at is null or array_contains(warnings, 'runaway_suspect') then 0
            else {{ round_to_integer(
                'greatest(0, ' ~ seconds_between('segment_started_at', 'observed_until_at')
                ~ ' - coalesce(suspended_seconds, 0))'
            ) }}
        end as exposure_seconds
    from observed_records

)

select
    cluster_id,
    attempt_id,
    coalesce(job_key, attempt_id) as job_key,
    previous_attempt_id,
    attempt_number,
    is_last_of_job,
    is_continuation,
    source_path,
    source_line_number,
    job_id,
    job_id_raw,
    array_job_id,
    array_task_id,
    het_job_id,
    het_offset,
    user_name,
    account,
    partition,
    qos,
    job_name,
    submitted_at,
    eligible_at,
    segment_started_at as started_at,
    ended_at,
    observed_until_at,
    time_quality,
    elapsed_seconds,
    suspended_seconds,
    queue_seconds,
    runtime_seconds,
    exposure_seconds,
    state,
    is_terminal,
    has_ended,
    cancelled_by_uid,
    exit_code,
    exit_signal,
    derived_exit_code,
    derived_exit_signal,
    node_ids,
    node_count,
    requested_node_count,
    told_gpu_count as gpu_count,
    told_gpu_count_source as gpu_count_source,
    gpu_type,
    requested_gpu_count,
    cpu_count,
    time_limit_seconds,
    restart_count,
    failed_node_id,
    pending_reason,
    gpu_utilisation,
    warnings,
    told_gpu_count * exposure_seconds / 3600 as gpu_hours,
    node_count * exposure_seconds / 86400 as node_days
from exposed_records
