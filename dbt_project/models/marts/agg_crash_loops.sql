with

-- A loop needs several attempts; most runs have one.
attempts as (

    select * from {{ ref('fct_attempts') }}
    where
        run_attempt_number > 1
        or not is_last_of_run

),

preempted_attempts as (

    select * from {{ ref('fct_attempts') }}
    where state = 'PREEMPTED'

),

failures as (

    select * from {{ ref('fct_failures') }}

),

preemptions as (

    select * from {{ ref('fct_preemptions') }}

),

failing_runs as (

    select
        cluster_id,
        run_id
    from attempts
    where is_infrastructure_failure
    group by cluster_id, run_id
    having count(*) >= 3

),

-- Jobs withdrawn while waiting never started, and segments of a resized job are not ends: they do not break a loop.
tries as (

    select
        attempts.cluster_id,
        attempts.run_id,
        attempts.attempt_id,
        attempts.user_name,
        attempts.account,
        attempts.gpu_count,
        attempts.started_at,
        attempts.ended_at,
        attempts.is_infrastructure_failure,
        attempts.run_attempt_number,
        count(case when not attempts.is_infrastructure_failure then 1 end) over (
            partition by attempts.cluster_id, attempts.run_id
            order by attempts.run_attempt_number
            rows between unbounded preceding and current row
        ) as stretch_number
    from attempts
    inner join failing_runs
        on
            attempts.cluster_id = failing_runs.cluster_id
            and attempts.run_id = failing_runs.run_id
    where
        attempts.started_at is not null
        and attempts.state != 'RESIZING'

),

stretches as (

    select
        cluster_id,
        run_id,
        stretch_number,
        count(*) as failure_count,
        min(started_at) as started_at,
        max(ended_at) as ended_at
    from tries
    where is_infrastructure_failure
    group by cluster_id, run_id, stretch_number
    having count(*) >= 3

),

loops as (

    select
        cluster_id,
        run_id,
        max(failure_count) as consecutive_failure_count,
        count(*) as loop_count,
        min(started_at) as started_at,
        max(ended_at) as ended_at
    from stretches
    group by cluster_id, run_id

),

runs as (

    select
        loops.cluster_id,
        loops.run_id,
        {{ first_by('attempts.user_name', 'attempts.run_attempt_number') }} as user_name,
        {{ first_by('attempts.account', 'attempts.run_attempt_number') }} as account,
        max(attempts.gpu_count) as gpu_count,
        count(*) as attempt_count,
        count(failures.attempt_id) as failure_count,
        {{ exact_sum('failures.lost_gpu_hours') }} as first_order_gpu_hours,
        {{ exact_sum('failures.posterior_probability') }} as expected_failure_count,
        {{ exact_sum('failures.posterior_probability * failures.lost_gpu_hours') }} as expected_first_gpu_hours
    from loops
    inner join attempts
        on
            loops.cluster_id = attempts.cluster_id
            and loops.run_id = attempts.run_id
    left join failures
        on
            attempts.cluster_id = failures.cluster_id
            and attempts.attempt_id = failures.attempt_id
    group by loops.cluster_id, loops.run_id

),

victims as (

    select
        loops.cluster_id,
        loops.run_id,
        count(*) as victim_count,
        count(case when preemptions.is_second_order then 1 end) as second_order_victim_count,
        sum(preempted_attempts.gpu_count) as victim_gpu_count,
        {{ exact_sum('preemptions.lost_gpu_hours') }} as victim_gpu_hours,
        {{ exact_sum('preemptions.second_order_probability * preemptions.lost_gpu_hours') }}
            as expected_second_gpu_hours
    from loops
    inner join attempts as instigators
        on
            loops.cluster_id = instigators.cluster_id
            and loops.run_id = instigators.run_id
    inner join preemptions
        on
            instigators.cluster_id = preemptions.cluster_id
            and instigators.attempt_id = preemptions.instigator_attempt_id
    inner join preempted_attempts
        on
            preemptions.cluster_id = preempted_attempts.cluster_id
            and preemptions.attempt_id = preempted_attempts.attempt_id
    group by loops.cluster_id, loops.run_id

)

select
    loops.cluster_id,
    loops.run_id,
    runs.user_name,
    runs.account,
    runs.gpu_count,
    loops.started_at,
    loops.ended_at,
    cast(loops.consecutive_failure_count as integer) as consecutive_failure_count,
    cast(loops.loop_count as integer) as loop_count,
    cast(runs.failure_count as integer) as failure_count,
    cast(runs.attempt_count as integer) as attempt_count,
    coalesce(victims.victim_count, 0) as victim_count,
    coalesce(victims.second_order_victim_count, 0) as second_order_victim_count,
    cast(case when victims.run_id is null then 0 else victims.victim_gpu_count end as bigint) as victim_gpu_count,
    runs.first_order_gpu_hours,
    case when victims.run_id is null then 0 else victims.victim_gpu_hours end as victim_gpu_hours,
    coalesce(
        runs.first_order_gpu_hours + victims.victim_gpu_hours, runs.first_order_gpu_hours, victims.victim_gpu_hours
    ) as lost_gpu_hours,
    coalesce(runs.expected_failure_count, 0) as expected_failure_count,
    coalesce(
        runs.expected_first_gpu_hours + victims.expected_second_gpu_hours,
        runs.expected_first_gpu_hours,
        victims.expected_second_gpu_hours
    ) as expected_lost_gpu_hours
from loops
inner join runs
    on
        loops.cluster_id = runs.cluster_id
        and loops.run_id = runs.run_id
left join victims
    on
        loops.cluster_id = victims.cluster_id
        and loops.run_id = victims.run_id
