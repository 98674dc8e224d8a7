with

clusters as (

    select * from {{ ref('dim_clusters') }}

),

days_covered as (

    select * from {{ ref('int_days_covered') }}

),

exposures as (

    select * from {{ ref('int_node_days_by_date') }}

),

failures as (

    select * from {{ ref('fct_failures') }}

),

-- On a day that no export covers nobody knows what failed, and what ran is known only of jobs that ended later.
days as (

    select
        days_covered.cluster_id,
        days_covered.day_date
    from days_covered
    inner join clusters on days_covered.cluster_id = clusters.cluster_id
    where
        days_covered.kind = 'sacct'
        and days_covered.day_date between cast(clusters.first_at as date) and cast(clusters.data_through_at as date)

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
        -- A day without attempts had no exposure; one whose attempts' nodes are unknown had an unknown one.
        case when exposures.cluster_id is null then 0 else exposures.node_days end as node_days
    from days
    inner join causes on days.cluster_id = causes.cluster_id
    left join exposures
        on
            days.cluster_id = exposures.cluster_id
            and days.day_date = exposures.day_date
    left join failures_of_days
        on
            days.cluster_id = failures_of_days.cluster_id
            and days.day_date = failures_of_days.day_date
            and causes.failure_category = failures_of_days.failure_category

),

-- A window holds the days of the last 30 that are covered.
windowed as (

    select
        *,
        count(*) over trailing_month as window_day_count,
        cast(sum(failure_count) over trailing_month as bigint) as failure_count_30d,
        cast(sum(cast(expected_failure_count as decimal(28, 12))) over trailing_month as double)
            as expected_failure_count_30d,
        -- A month with a day of unknown exposure has none that is known: its failures would still be counted.
        case
            when count(node_days) over trailing_month = count(*) over trailing_month
                then cast(sum(cast(node_days as decimal(28, 12))) over trailing_month as double)
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
