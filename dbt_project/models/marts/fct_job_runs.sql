{{ config(post_hook='{{ name_tables_by_schema() }}') }}

{% set productive_seconds_high = 'working_seconds * work_ratio' %}
{% set productive_seconds = 'greatest(0, ' ~ productive_seconds_high ~ ' - lost_seconds)' %}
{% set productive_seconds_low = 'greatest(0, ' ~ productive_seconds_high ~ ' - lost_seconds_high)' %}
{% set wallclock_seconds = '(queue_seconds + scheduled_seconds)' %}

with

attempts as (

    select * from {{ name_table(ref('fct_attempts'), by_schema) }}

),

clusters as (

    select * from {{ name_table(ref('dim_clusters'), by_schema) }}

),

attempts_of_several as (

    {{ measured_work(
        'attempts', 'clusters', 'attempts.run_attempt_number > 1 or not attempts.is_last_of_run'
    ) | indent(4) }}

),

totals as (

    select
        run_id,
        {{ last_by('state', 'run_attempt_number') }} as final_state,
        max(case when started_at is not null then gpu_count end) as gpu_count,
        max(case when started_at is not null then job_gpu_count end) as job_gpu_count,
        max(case when started_at is not null then node_count end) as node_count,
        count(distinct job_id_raw) as job_count,
        count(*) as attempt_count,
        min(started_at) as started_at,
        max(ended_at) as last_ended_at,
        bool_and(has_ended) as is_complete,
        case
            when count(started_at) = count(queue_seconds) then coalesce(sum(queue_seconds), 0)
        end as queue_seconds,
        sum(exposure_seconds) as scheduled_seconds,
        sum(gpu_count * runtime_seconds) as gpu_seconds,
        {{ exact_sum('working_seconds') }} as working_seconds,
        {{ exact_sum('lost_seconds') }} as lost_seconds,
        {{ exact_sum('lost_seconds_high') }} as lost_seconds_high,
        count(case when is_interrupted then 1 end) as interruption_count,
        count(case when is_infrastructure_failure then 1 end) as infrastructure_failure_count,
        count(case when state = 'PREEMPTED' then 1 end) as preemption_count,
        count(case when attempt_number > 1 and not is_continuation then 1 end) as requeue_count
    from attempts_of_several
    group by run_id

),

restarted_runs as (

    select
        first_attempts.cluster_id,
        first_attempts.run_id,
        first_attempts.user_name,
        first_attempts.account,
        first_attempts.partition,
        first_attempts.qos,
        first_attempts.job_name,
        totals.gpu_count,
        totals.job_gpu_count,
        totals.node_count,
        cast(totals.job_count as integer) as job_count,
        cast(totals.attempt_count as integer) as attempt_count,
        first_attempts.submitted_at,
        totals.started_at,
        case when totals.is_complete then totals.last_ended_at end as ended_at,
        totals.is_complete,
        totals.final_state,
        cast(totals.queue_seconds as bigint) as queue_seconds,
        cast(coalesce(totals.scheduled_seconds, 0) as bigint) as scheduled_seconds,
        cast(coalesce(totals.working_seconds, 0) as double) as working_seconds,
        cast(first_attempts.work_ratio as double) as work_ratio,
        cast(coalesce(totals.lost_seconds, 0) as double) as lost_seconds,
        cast(coalesce(totals.lost_seconds_high, 0) as double) as lost_seconds_high,
        cast(totals.gpu_seconds as bigint) as gpu_seconds,
        cast(totals.interruption_count as integer) as interruption_count,
        cast(totals.infrastructure_failure_count as integer) as infrastructure_failure_count,
        cast(totals.preemption_count as integer) as preemption_count,
        cast(totals.requeue_count as integer) as requeue_count
    from attempts_of_several as first_attempts
    inner join totals on first_attempts.run_id = totals.run_id
    where first_attempts.run_attempt_number = 1

),

-- A few thousand out of millions of attempts.
losses as (

    select
        run_id,
        {{ exact_sum('lost_gpu_hours') }} as lost_gpu_hours,
        {{ exact_sum('probability * lost_gpu_hours') }} as expected_lost_gpu_hours
    from (
        select
            run_id,
            posterior_probability as probability,
            lost_gpu_hours
        from {{ name_table(ref('fct_failures'), by_schema) }}
        union all
        select
            run_id,
            second_order_probability as probability,
            lost_gpu_hours
        from {{ name_table(ref('fct_preemptions'), by_schema) }}
        where is_second_order
    ) as lost_work
    group by run_id

),

only_attempts as (

    {{ measured_work(
        'attempts', 'clusters', 'attempts.run_attempt_number = 1 and attempts.is_last_of_run'
    ) | indent(4) }}

),

-- Most runs have one attempt, which needs no sums.
runs as (

    select
        cluster_id,
        run_id,
        user_name,
        account,
        partition,
        qos,
        job_name,
        gpu_count,
        job_gpu_count,
        node_count,
        job_count,
        attempt_count,
        submitted_at,
        started_at,
        ended_at,
        is_complete,
        final_state,
        queue_seconds,
        scheduled_seconds,
        working_seconds,
        work_ratio,
        lost_seconds,
        lost_seconds_high,
        gpu_seconds,
        interruption_count,
        infrastructure_failure_count,
        preemption_count,
        requeue_count
    from restarted_runs

    union all

    select
        cluster_id,
        run_id,
        user_name,
        account,
        partition,
        qos,
        job_name,
        case when started_at is not null then gpu_count end as gpu_count,
        case when started_at is not null then job_gpu_count end as job_gpu_count,
        case when started_at is not null then node_count end as node_count,
        1 as job_count,
        1 as attempt_count,
        submitted_at,
        started_at,
        case when has_ended then ended_at end as ended_at,
        has_ended as is_complete,
        state as final_state,
        cast(case when started_at is null then 0 else queue_seconds end as bigint) as queue_seconds,
        cast(coalesce(exposure_seconds, 0) as bigint) as scheduled_seconds,
        cast(coalesce(working_seconds, 0) as double) as working_seconds,
        cast(work_ratio as double) as work_ratio,
        cast(coalesce(lost_seconds, 0) as double) as lost_seconds,
        cast(coalesce(lost_seconds_high, 0) as double) as lost_seconds_high,
        cast(gpu_count * runtime_seconds as bigint) as gpu_seconds,
        cast(is_interrupted as integer) as interruption_count,
        cast(is_infrastructure_failure as integer) as infrastructure_failure_count,
        cast(state = 'PREEMPTED' as integer) as preemption_count,
        0 as requeue_count
    from only_attempts

)

select
    cluster_id,
    runs.run_id,
    user_name,
    account,
    partition,
    qos,
    job_name,
    gpu_count,
    {{ gpu_size_bin('job_gpu_count') }} as gpu_size_bin,
    node_count,
    job_count,
    attempt_count,
    submitted_at,
    started_at,
    ended_at,
    is_complete,
    final_state,
    queue_seconds / 3600 as queue_hours,
    scheduled_seconds / 3600 as scheduled_hours,
    {{ productive_seconds }} / 3600 as productive_hours,
    {{ productive_seconds_low }} / 3600 as productive_hours_low,
    {{ productive_seconds_high }} / 3600 as productive_hours_high,
    (scheduled_seconds - {{ productive_seconds }}) / 3600 as unproductive_hours,
    {{ wallclock_seconds }} / 3600 as wallclock_hours,
    {{ productive_seconds }} / nullif({{ wallclock_seconds }}, 0) as ettr,
    {{ productive_seconds_low }} / nullif({{ wallclock_seconds }}, 0) as ettr_low,
    {{ productive_seconds_high }} / nullif({{ wallclock_seconds }}, 0) as ettr_high,
    {{ productive_seconds }} / nullif(scheduled_seconds, 0) as progress_ratio,
    {{ productive_seconds_low }} / nullif(scheduled_seconds, 0) as progress_ratio_low,
    {{ productive_seconds_high }} / nullif(scheduled_seconds, 0) as progress_ratio_high,
    gpu_seconds / 3600 as gpu_hours,
    queue_seconds,
    scheduled_seconds,
    working_seconds,
    work_ratio,
    lost_seconds,
    lost_seconds_high,
    gpu_seconds,
    interruption_count,
    infrastructure_failure_count,
    preemption_count,
    requeue_count,
    case when losses.run_id is null then 0 else losses.lost_gpu_hours end as lost_gpu_hours,
    case when losses.run_id is null then 0 else losses.expected_lost_gpu_hours end as expected_lost_gpu_hours
from runs
left join losses on runs.run_id = losses.run_id
