with

days as (

    select * from {{ ref('int_covered_node_days') }}

),

failures as (

    select * from {{ ref('fct_failures') }}

),

causes as (

    select distinct
        cluster_id,
        failure_category
    from failures

),

failures_of_days as (

    select
        cluster_id,
        failure_category,
        cast(failed_at as date) as day_date,
        count(*) as failure_count,
        {{ exact_sum('posterior_probability') }} as expected_failure_count
    from failures
    group by cluster_id, failure_category, cast(failed_at as date)

),

daily as (

    select
        days.cluster_id,
        days.day_date,
        causes.failure_category,
        coalesce(failures_of_days.failure_count, 0) as failure_count,
        coalesce(failures_of_days.expected_failure_count, 0) as expected_failure_count,
        days.node_days,
        case when days.is_cut_off then 0 else 1 end as counted_day,
        case when days.is_cut_off then 0 else days.node_days end as counted_node_days
    from days
    inner join causes on days.cluster_id = causes.cluster_id
    left join failures_of_days
        on
            days.cluster_id = failures_of_days.cluster_id
            and days.day_date = failures_of_days.day_date
            and causes.failure_category = failures_of_days.failure_category

),

-- The trailing window: covered days of the last 30 that are inside the study period.
windowed as (

    select
        *,
        sum(counted_day) over trailing_month as window_day_count,
        cast(sum(counted_day * failure_count) over trailing_month as bigint) as failure_count_30d,
        cast(sum(cast(counted_day * expected_failure_count as decimal(28, 12))) over trailing_month as double)
            as expected_failure_count_30d,
        -- One day of unknown exposure makes the window's exposure unknown, because its failures still count.
        case
            when count(counted_node_days) over trailing_month = count(*) over trailing_month
                then cast(sum(cast(counted_node_days as decimal(28, 12))) over trailing_month as double)
        end as node_days_30d
    from daily
    window trailing_month as (
        partition by cluster_id, failure_category
        order by {{ days_between("date '2000-01-01'", 'day_date') }}
        range between 29 preceding and current row
    )

)

select
    cluster_id,
    day_date,
    failure_category,
    failure_count,
    node_days,
    cast(window_day_count as integer) as window_day_count,
    failure_count_30d,
    node_days_30d,
    1000 * failure_count_30d / nullif(node_days_30d, 0) as failures_per_1000_node_days_30d,
    expected_failure_count,
    expected_failure_count_30d
from windowed
