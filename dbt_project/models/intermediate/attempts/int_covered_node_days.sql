with

attempts as (

    select * from {{ ref('int_attempts') }}

),

node_sightings as (

    select * from {{ ref('int_node_sightings') }}

),

study_periods as (

    select * from {{ ref('int_study_periods') }}

),

days_covered as (

    select * from {{ ref('int_days_covered') }}
    where kind = 'sacct'

),

-- Most attempts touch one day and need no expansion.
attempt_days as (

    select
        cluster_id,
        cast(started_at as date) as day_date,
        node_days
    from attempts
    where cast(started_at as date) = cast(observed_until_at as date)

    union all

    select
        cluster_id,
        day_date,
        node_days * {{ seconds_between(
            'greatest(started_at, cast(day_date as timestamp))',
            'least(observed_until_at, cast(day_date as timestamp) + interval 1 day)'
        ) }} / {{ seconds_between('started_at', 'observed_until_at') }} as node_days
    from (
        select
            *,
            {{ unnest_date_range('cast(started_at as date)', 'cast(observed_until_at as date)') }} as day_date
        from attempts
        where cast(started_at as date) < cast(observed_until_at as date)
    ) as longer_attempts

),

exposures as (

    select
        cluster_id,
        day_date,
        {{ exact_sum('node_days') }} as node_days
    from attempt_days
    group by cluster_id, day_date

),

-- Accounting begins with the first attempt. Without attempts, the cluster begins with the first sight of a node.
first_moments as (

    select
        cluster_id,
        min(submitted_at) as submitted_at,
        min(first_seen_at) as first_seen_at
    from (
        select
            cluster_id,
            submitted_at,
            cast(null as timestamp) as first_seen_at
        from attempts
        union all
        select
            cluster_id,
            null as submitted_at,
            first_seen_at
        from node_sightings
    ) as moments
    group by cluster_id

)

-- On a day without an export, failures are unknown, and runtime is known only for jobs that ended later.
select
    days_covered.cluster_id,
    days_covered.day_date,
    -- A day without attempts had no exposure. A day with unknown nodes had an unknown exposure.
    case when exposures.cluster_id is null then 0 else exposures.node_days end as node_days,
    -- If exports have no running jobs, attempts still running at the end of the last days are not recorded.
    study_periods.study_to_at < study_periods.data_through_at
    and study_periods.study_to_at < cast(days_covered.day_date as timestamp) + interval 1 day as is_cut_off
from days_covered
inner join study_periods on days_covered.cluster_id = study_periods.cluster_id
inner join first_moments on days_covered.cluster_id = first_moments.cluster_id
left join exposures
    on
        days_covered.cluster_id = exposures.cluster_id
        and days_covered.day_date = exposures.day_date
where
    days_covered.day_date >= cast(coalesce(first_moments.submitted_at, first_moments.first_seen_at) as date)
    and days_covered.day_date <= cast(study_periods.data_through_at as date)
