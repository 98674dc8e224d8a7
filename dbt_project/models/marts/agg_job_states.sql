with

attempts as (

    select * from {{ ref('fct_attempts') }}
    where is_terminal

),

failures as (

    select * from {{ ref('fct_failures') }}

),

states as (

    select
        attempts.cluster_id,
        attempts.state,
        count(*) as attempt_count,
        count(case when attempts.gpu_count is null then 1 end) as gpu_unknown_count,
        sum(attempts.gpu_count * attempts.runtime_seconds) as gpu_seconds,
        count(failures.attempt_id) as failed_count,
        count(case when attempts.gpu_count is null then failures.attempt_id end) as failed_gpu_unknown_count,
        sum(case when failures.attempt_id is not null then attempts.gpu_count * attempts.runtime_seconds end)
            as failed_gpu_seconds,
        {{ exact_sum('failures.posterior_probability') }} as expected_failure_count
    from attempts
    left join failures
        on
            attempts.cluster_id = failures.cluster_id
            and attempts.attempt_id = failures.attempt_id
    group by attempts.cluster_id, attempts.state

),

totals as (

    select
        cluster_id,
        sum(attempt_count) as attempt_count,
        sum(gpu_seconds) as gpu_seconds,
        sum(failed_count) as failed_count,
        sum(failed_gpu_unknown_count) as failed_gpu_unknown_count,
        sum(failed_gpu_seconds) as failed_gpu_seconds,
        {{ exact_sum('expected_failure_count') }} as expected_failure_count
    from states
    group by cluster_id

),

-- Infrastructure failures count in their states, too, so this row must not be added to totals.
rows_shown as (

    select
        cluster_id,
        state,
        false as is_infrastructure,
        attempt_count,
        gpu_unknown_count,
        gpu_seconds,
        expected_failure_count
    from states

    union all

    select
        cluster_id,
        'INFRASTRUCTURE' as state,
        true as is_infrastructure,
        cast(failed_count as bigint) as attempt_count,
        cast(failed_gpu_unknown_count as bigint) as gpu_unknown_count,
        case
            when failed_count = 0 or failed_gpu_unknown_count < failed_count then coalesce(failed_gpu_seconds, 0)
        end as gpu_seconds,
        expected_failure_count
    from totals

)

select
    rows_shown.cluster_id,
    rows_shown.state,
    rows_shown.is_infrastructure,
    rows_shown.attempt_count,
    rows_shown.attempt_count / totals.attempt_count as attempt_ratio,
    rows_shown.gpu_seconds / 3600 as gpu_hours,
    rows_shown.gpu_seconds / nullif(totals.gpu_seconds, 0) as gpu_time_ratio,
    rows_shown.gpu_unknown_count,
    coalesce(rows_shown.expected_failure_count, 0) as expected_failure_count
from rows_shown
inner join totals on rows_shown.cluster_id = totals.cluster_id
