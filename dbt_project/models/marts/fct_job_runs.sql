{% set productive_seconds_high = 'working_seconds * work_ratio' %}
{% set productive_seconds = 'greatest(0, ' ~ productive_seconds_high ~ ' - lost_seconds)' %}
{% set productive_seconds_low = 'greatest(0, ' ~ productive_seconds_high ~ ' - lost_seconds_high)' %}
{% set wallclock_seconds = '(queue_seconds + scheduled_seconds)' %}
{% set generated = {
    'queue_hours': 'queue_seconds / 3600',
    'scheduled_hours': 'scheduled_seconds / 3600',
    'productive_hours': productive_seconds ~ ' / 3600',
    'productive_hours_low': productive_seconds_low ~ ' / 3600',
    'productive_hours_high': productive_seconds_high ~ ' / 3600',
    'unproductive_hours': '(scheduled_seconds - ' ~ productive_seconds ~ ') / 3600',
    'wallclock_hours': wallclock_seconds ~ ' / 3600',
    'ettr': productive_seconds ~ ' / nullif(' ~ wallclock_seconds ~ ', 0)',
    'ettr_low': productive_seconds_low ~ ' / nullif(' ~ wallclock_seconds ~ ', 0)',
    'ettr_high': productive_seconds_high ~ ' / nullif(' ~ wallclock_seconds ~ ', 0)',
    'gpu_hours': 'gpu_seconds / 3600',
    'gpu_size_bin': gpu_size_bin('gpu_count'),
} %}

{{ config(meta={'generated': generated}) }}

with

attempts as (

    select * from {{ ref('fct_attempts') }}

),

clusters as (

    select * from {{ ref('stg_config__clusters') }}

),

-- A restart is paid once per attempt; the next segment of a resized job goes on without one. Time after it is work and
-- checkpoint writes in turn.
restarted as (

    select
        attempts.*,
        clusters.checkpoint_minutes * 60 as checkpoint_seconds,
        case
            when clusters.write_minutes > 0
                then clusters.checkpoint_minutes / (clusters.checkpoint_minutes + clusters.write_minutes)
            else 1
        end as work_ratio,
        greatest(
            0,
            attempts.runtime_seconds
            - case when attempts.is_continuation then 0 else clusters.restart_minutes * 60 end
        ) as working_seconds,
        attempts.is_infrastructure_failure
        or attempts.state in ('NODE_FAIL', 'PREEMPTED', 'REQUEUED')
        or (attempts.state = 'TIMEOUT' and not attempts.is_last_of_run) as is_interrupted
    from attempts
    inner join clusters on attempts.cluster_id = clusters.cluster_id

),

-- Checkpoints leave no trace in the accounting: what an interruption lost is an assumption, at most a whole interval.
measured as (

    select
        *,
        case
            when is_interrupted then least(working_seconds * work_ratio, checkpoint_seconds / 2) else 0
        end as lost_seconds,
        case
            when is_interrupted then least(working_seconds * work_ratio, checkpoint_seconds) else 0
        end as lost_seconds_high
    from restarted

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
        {{ exact_sum('working_seconds') }} as working_seconds,
        {{ exact_sum('lost_seconds') }} as lost_seconds,
        {{ exact_sum('lost_seconds_high') }} as lost_seconds_high,
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
        coalesce(totals.working_seconds, first_attempts.working_seconds, 0) as working_seconds,
        first_attempts.work_ratio,
        coalesce(totals.lost_seconds, first_attempts.lost_seconds, 0) as lost_seconds,
        coalesce(totals.lost_seconds_high, first_attempts.lost_seconds_high, 0) as lost_seconds_high,
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

),

added_up as (

    select
        cluster_id,
        run_id,
        user_name,
        account,
        partition,
        qos,
        job_name,
        gpu_count,
        node_count,
        cast(job_count as integer) as job_count,
        cast(attempt_count as integer) as attempt_count,
        submitted_at,
        started_at,
        case when is_complete then last_ended_at end as ended_at,
        is_complete,
        final_state,
        cast(queue_seconds as bigint) as queue_seconds,
        cast(scheduled_seconds as bigint) as scheduled_seconds,
        cast(working_seconds as double) as working_seconds,
        cast(work_ratio as double) as work_ratio,
        cast(lost_seconds as double) as lost_seconds,
        cast(lost_seconds_high as double) as lost_seconds_high,
        cast(gpu_seconds as bigint) as gpu_seconds,
        cast(interruption_count as integer) as interruption_count,
        cast(infrastructure_failure_count as integer) as infrastructure_failure_count,
        cast(preemption_count as integer) as preemption_count
    from runs

)

select
    *,
    {{ generated.queue_hours }} as queue_hours,
    {{ generated.scheduled_hours }} as scheduled_hours,
    {{ generated.productive_hours }} as productive_hours,
    {{ generated.productive_hours_low }} as productive_hours_low,
    {{ generated.productive_hours_high }} as productive_hours_high,
    {{ generated.unproductive_hours }} as unproductive_hours,
    {{ generated.wallclock_hours }} as wallclock_hours,
    {{ generated.ettr }} as ettr,
    {{ generated.ettr_low }} as ettr_low,
    {{ generated.ettr_high }} as ettr_high,
    {{ generated.gpu_hours }} as gpu_hours,
    {{ generated.gpu_size_bin }} as gpu_size_bin
from added_up
