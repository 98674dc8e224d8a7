-- Accounting identity: day by day, a cause's failures are those listed, and the node-days those of the attempts,
-- of every cluster whose accounting covers all days on which attempts ran.
{{ config(tags=['judged_with_the_code']) }}

with

daily as (

    select
        cluster_id,
        failure_category,
        sum(failure_count) as failure_count,
        sum(expected_failure_count) as expected_failure_count,
        coalesce(sum(node_days), 0) as node_days
    from {{ ref('agg_failure_rates_daily') }}
    group by cluster_id, failure_category

),

failures as (

    select
        cluster_id,
        failure_category,
        count(*) as failure_count,
        sum(posterior_probability) as expected_failure_count
    from {{ ref('fct_failures') }}
    group by cluster_id, failure_category

),

ran as (

    select
        cluster_id,
        min(cast(started_at as date)) as first_date,
        max(cast(ended_at as date)) as last_date
    from {{ ref('fct_attempts') }}
    where
        is_terminal
        and started_at is not null
    group by cluster_id

),

complete as (

    select ran.cluster_id
    from ran
    inner join {{ ref('int_days_covered') }} as days
        on
            ran.cluster_id = days.cluster_id
            and days.kind = 'sacct'
            and days.day_date between ran.first_date and ran.last_date
    group by ran.cluster_id, ran.first_date, ran.last_date
    having count(*) = {{ days_between('ran.first_date', 'ran.last_date') }} + 1

),

attempts as (

    select
        cluster_id,
        coalesce(sum(node_count * exposure_seconds / 86400), 0) as node_days
    from {{ ref('fct_attempts') }}
    group by cluster_id

)

select
    failures.cluster_id,
    failures.failure_category,
    failures.failure_count,
    daily.failure_count as failures_by_day,
    attempts.node_days,
    daily.node_days as node_days_by_day
from failures
inner join attempts on failures.cluster_id = attempts.cluster_id
inner join complete on failures.cluster_id = complete.cluster_id
left join daily
    on
        failures.cluster_id = daily.cluster_id
        and failures.failure_category = daily.failure_category
where
    failures.failure_count is distinct from daily.failure_count
    or not coalesce(abs(failures.expected_failure_count - daily.expected_failure_count) < 1e-3, false)
    or abs(attempts.node_days - coalesce(daily.node_days, 0)) > 1e-6 * (1 + attempts.node_days)
