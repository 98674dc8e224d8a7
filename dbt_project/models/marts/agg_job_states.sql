with

attempts as (

    select * from {{ ref('fct_attempts') }}
    where is_terminal

),

failures as (

    select * from {{ ref('fct_failures') }}

),

expected as (

    select
        attempts.cluster_id,
        attempts.state,
        {{ exact_sum('failures.posterior_probability') }} as failure_count
    from attempts
    inner join failures
        on
            attempts.cluster_id = failures.cluster_id
            and attempts.attempt_id = failures.attempt_id
    group by attempts.cluster_id, attempts.state

),

expected_in_all as (

    select
        cluster_id,
        'INFRASTRUCTURE' as state,
        {{ exact_sum('failure_count') }} as failure_count
    from expected
    group by cluster_id

    union all

    select
        cluster_id,
        state,
        failure_count
    from expected

),

states as (

    select
        cluster_id,
        state,
        count(*) as attempt_count,
        count(case when gpu_count is null then 1 end) as gpu_unknown_count,
        sum(gpu_count * runtime_seconds) as gpu_seconds
    from attempts
    group by cluster_id, state

),

infrastructure as (

    select
        cluster_id,
        count(case when is_infrastructure_failure then 1 end) as attempt_count,
        count(case when is_infrastructure_failure and gpu_count is null then 1 end) as gpu_unknown_count,
        sum(case when is_infrastructure_failure then gpu_count * runtime_seconds end) as gpu_seconds
    from attempts
    group by cluster_id

),

-- Infrastructure failures are counted in their states as well: the row stands apart and adds to no total.
rows_shown as (

    select
        cluster_id,
        state,
        false as is_infrastructure,
        attempt_count,
        gpu_unknown_count,
        gpu_seconds
    from states

    union all

    select
        cluster_id,
        'INFRASTRUCTURE' as state,
        true as is_infrastructure,
        attempt_count,
        gpu_unknown_count,
        case
            when attempt_count = 0 or gpu_unknown_count < attempt_count then coalesce(gpu_seconds, 0)
        end as gpu_seconds
    from infrastructure

),

totals as (

    select
        cluster_id,
        sum(attempt_count) as attempt_count,
        sum(gpu_seconds) as gpu_seconds
    from states
    group by cluster_id

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
    coalesce(expected_in_all.failure_count, 0) as expected_failure_count
from rows_shown
inner join totals on rows_shown.cluster_id = totals.cluster_id
left join expected_in_all
    on
        rows_shown.cluster_id = expected_in_all.cluster_id
        and rows_shown.state = expected_in_all.state
