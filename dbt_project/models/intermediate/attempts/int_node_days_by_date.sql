with

records as (

    select * from {{ ref('int_attempts') }}
    where observed_until_at is not null

),

-- Most records touch one day and need no expansion.
record_days as (

    select
        cluster_id,
        cast(started_at as date) as day_date,
        node_days
    from records
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
        from records
        where cast(started_at as date) < cast(observed_until_at as date)
    ) as longer_records

)

select
    cluster_id,
    day_date,
    {{ exact_sum('node_days') }} as node_days
from record_days
group by cluster_id, day_date
