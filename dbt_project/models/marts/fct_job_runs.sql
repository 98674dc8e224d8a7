with

attempts as (

    select * from {{ ref('fct_attempts') }}

),

clusters as (

    select * from {{ ref('stg_config__clusters') }}

),

-- A restart is paid once per attempt; the next segment of a resized job goes on without one.
restarted as (

    select
        attempts.*,
        clusters.checkpoint_minutes * 60 as checkpoint_seconds,
        clusters.write_minutes * 60 as write_seconds,
        greatest(
            0,
            attempts.runtime_seconds
            - case when attempts.is_continuation then 0 else clusters.restart_minutes * 60 end
        ) as seconds_after_restart,
        attempts.is_infrastructure_failure
        or attempts.state in ('NODE_FAIL', 'PREEMPTED', 'REQUEUED')
        or (attempts.state = 'TIMEOUT' and not attempts.is_last_of_run) as is_interrupted
    from attempts
    inner join clusters on attempts.cluster_id = clusters.cluster_id

),

-- Time after the restart is work and checkpoint writes in turn. Checkpoints leave no trace in the accounting: what an
-- interruption lost is an assumption between two bounds.
worked as (

    select
        *,
        case
            when write_seconds > 0
                then seconds_after_restart * checkpoint_seconds / (checkpoint_seconds + write_seconds)
            else seconds_after_restart
        end as worked_seconds,
        case when is_interrupted then checkpoint_seconds else 0 end as most_lost_seconds
    from restarted

),

measured as (

    select
        *,
        worked_seconds as productive_seconds_high,
        greatest(0, worked_seconds - most_lost_seconds / 2) as productive_seconds,
        greatest(0, worked_seconds - most_lost_seconds) as productive_seconds_low
    from worked

),

-- Most runs are a single attempt: adding up only the others saves most of the time.
runs as (

    select
        cluster_id,
        run_id,
        user_name,
        account,
        partition,
        qos,
        job_name,
        state as final_state,
        case when started_at is not null then gpu_count end as gpu_count,
        case when started_at is not null then node_count end as node_count,
        1 as job_count,
        1 as attempt_count,
        submitted_at,
        started_at,
        ended_at as last_ended_at,
        has_ended as is_complete,
        coalesce(queue_seconds, 0) as queue_seconds,
        coalesce(runtime_seconds, 0) as scheduled_seconds,
        gpu_count * runtime_seconds as gpu_seconds,
        coalesce(productive_seconds, 0) as productive_seconds,
        coalesce(productive_seconds_low, 0) as productive_seconds_low,
        coalesce(productive_seconds_high, 0) as productive_seconds_high,
        cast(is_interrupted as integer) as interruption_count,
        cast(is_infrastructure_failure as integer) as infrastructure_failure_count,
        cast(state = 'PREEMPTED' as integer) as preemption_count
    from measured
    where
        run_attempt_number = 1
        and is_last_of_run

    union all

    select
        cluster_id,
        run_id,
        min_by(user_name, run_attempt_number) as user_name,
        min_by(account, run_attempt_number) as account,
        min_by(partition, run_attempt_number) as partition,
        min_by(qos, run_attempt_number) as qos,
        min_by(job_name, run_attempt_number) as job_name,
        max_by(state, run_attempt_number) as final_state,
        max(case when started_at is not null then gpu_count end) as gpu_count,
        max(case when started_at is not null then node_count end) as node_count,
        count(distinct job_id_raw) as job_count,
        count(*) as attempt_count,
        min(submitted_at) as submitted_at,
        min(started_at) as started_at,
        max(ended_at) as last_ended_at,
        bool_and(has_ended) as is_complete,
        coalesce(sum(queue_seconds), 0) as queue_seconds,
        coalesce(sum(runtime_seconds), 0) as scheduled_seconds,
        sum(gpu_count * runtime_seconds) as gpu_seconds,
        coalesce({{ exact_sum('productive_seconds') }}, 0) as productive_seconds,
        coalesce({{ exact_sum('productive_seconds_low') }}, 0) as productive_seconds_low,
        coalesce({{ exact_sum('productive_seconds_high') }}, 0) as productive_seconds_high,
        sum(cast(is_interrupted as integer)) as interruption_count,
        sum(cast(is_infrastructure_failure as integer)) as infrastructure_failure_count,
        sum(cast(state = 'PREEMPTED' as integer)) as preemption_count
    from measured
    where
        run_attempt_number > 1
        or not is_last_of_run
    group by cluster_id, run_id

)

select
    cluster_id,
    run_id,
    user_name,
    account,
    partition,
    qos,
    job_name,
    gpu_count,
    {{ gpu_size_bin('gpu_count') }} as gpu_size_bin,
    node_count,
    cast(job_count as integer) as job_count,
    cast(attempt_count as integer) as attempt_count,
    submitted_at,
    started_at,
    case when is_complete then last_ended_at end as ended_at,
    is_complete,
    final_state,
    queue_seconds / 3600 as queue_hours,
    scheduled_seconds / 3600 as scheduled_hours,
    productive_seconds / 3600 as productive_hours,
    productive_seconds_low / 3600 as productive_hours_low,
    productive_seconds_high / 3600 as productive_hours_high,
    (scheduled_seconds - productive_seconds) / 3600 as unproductive_hours,
    (queue_seconds + scheduled_seconds) / 3600 as wallclock_hours,
    productive_seconds / nullif(queue_seconds + scheduled_seconds, 0) as ettr,
    productive_seconds_low / nullif(queue_seconds + scheduled_seconds, 0) as ettr_low,
    productive_seconds_high / nullif(queue_seconds + scheduled_seconds, 0) as ettr_high,
    gpu_seconds / 3600 as gpu_hours,
    cast(interruption_count as integer) as interruption_count,
    cast(infrastructure_failure_count as integer) as infrastructure_failure_count,
    cast(preemption_count as integer) as preemption_count
from runs
