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

-- Most runs are a single attempt: only the others are added up, which saves most of the time.
several_attempts as (

    select
        run_id,
        {{ last_by('state', 'run_attempt_number') }} as final_state,
        max(case when started_at is not null then gpu_count end) as gpu_count,
        max(case when started_at is not null then node_count end) as node_count,
        count(distinct job_id_raw) as job_count,
        count(*) as attempt_count,
        min(started_at) as started_at,
        max(ended_at) as last_ended_at,
        bool_and(has_ended) as is_complete,
        sum(queue_seconds) as queue_seconds,
        sum(runtime_seconds) as scheduled_seconds,
        sum(gpu_count * runtime_seconds) as gpu_seconds,
        {{ exact_sum('productive_seconds') }} as productive_seconds,
        {{ exact_sum('productive_seconds_low') }} as productive_seconds_low,
        {{ exact_sum('productive_seconds_high') }} as productive_seconds_high,
        count(case when is_interrupted then 1 end) as interruption_count,
        count(case when is_infrastructure_failure then 1 end) as infrastructure_failure_count,
        count(case when state = 'PREEMPTED' then 1 end) as preemption_count
    from measured
    where
        run_attempt_number > 1
        or not is_last_of_run
    group by run_id

),

runs as (

    select
        first_attempts.cluster_id,
        first_attempts.run_id,
        first_attempts.user_name,
        first_attempts.account,
        first_attempts.partition,
        first_attempts.qos,
        first_attempts.job_name,
        first_attempts.submitted_at,
        coalesce(totals.final_state, first_attempts.state) as final_state,
        coalesce(
            totals.gpu_count, case when first_attempts.started_at is not null then first_attempts.gpu_count end
        ) as gpu_count,
        coalesce(
            totals.node_count, case when first_attempts.started_at is not null then first_attempts.node_count end
        ) as node_count,
        coalesce(totals.job_count, 1) as job_count,
        coalesce(totals.attempt_count, 1) as attempt_count,
        coalesce(totals.started_at, first_attempts.started_at) as started_at,
        coalesce(totals.last_ended_at, first_attempts.ended_at) as last_ended_at,
        coalesce(totals.is_complete, first_attempts.has_ended) as is_complete,
        coalesce(totals.queue_seconds, first_attempts.queue_seconds, 0) as queue_seconds,
        coalesce(totals.scheduled_seconds, first_attempts.runtime_seconds, 0) as scheduled_seconds,
        coalesce(totals.gpu_seconds, first_attempts.gpu_count * first_attempts.runtime_seconds) as gpu_seconds,
        coalesce(totals.productive_seconds, first_attempts.productive_seconds, 0) as productive_seconds,
        coalesce(totals.productive_seconds_low, first_attempts.productive_seconds_low, 0) as productive_seconds_low,
        coalesce(totals.productive_seconds_high, first_attempts.productive_seconds_high, 0) as productive_seconds_high,
        coalesce(totals.interruption_count, cast(first_attempts.is_interrupted as integer)) as interruption_count,
        coalesce(
            totals.infrastructure_failure_count, cast(first_attempts.is_infrastructure_failure as integer)
        ) as infrastructure_failure_count,
        coalesce(
            totals.preemption_count, cast(first_attempts.state = 'PREEMPTED' as integer)
        ) as preemption_count
    from measured as first_attempts
    left join several_attempts as totals on first_attempts.run_id = totals.run_id
    where first_attempts.run_attempt_number = 1

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
