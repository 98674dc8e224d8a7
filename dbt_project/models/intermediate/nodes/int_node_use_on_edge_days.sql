with

study_periods as (

    select * from {{ ref('int_study_periods') }}

),

spans as (

    select * from {{ ref('stg_ops__spans') }}
    where kind = 'sacct'

),

-- The study period restarts after each gap of accounting.
dated_spans as (

    select
        spans.cluster_id,
        spans.from_at,
        least(spans.to_at, study_periods.study_to_at) as to_at,
        cast(spans.from_at as date) as first_date,
        cast(least(spans.to_at, study_periods.study_to_at) as date) as last_date
    from spans
    inner join study_periods
        on
            spans.cluster_id = study_periods.cluster_id
            and spans.from_at < study_periods.study_to_at
            and spans.from_at < spans.to_at

),

records as (

    select * from {{ ref('int_attempts') }}
    where observed_until_at is not null

),

edge_days as (

    select
        cluster_id,
        first_date as day_date,
        from_at,
        least(to_at, cast(first_date as timestamp) + interval 1 day) as to_at
    from dated_spans

    union all

    select
        cluster_id,
        last_date as day_date,
        cast(last_date as timestamp) as from_at,
        to_at
    from dated_spans
    where first_date < last_date

),

stays as (

    select
        edge_days.cluster_id,
        edge_days.day_date,
        edge_days.from_at,
        greatest(records.started_at, edge_days.from_at) as started_at,
        least(records.observed_until_at, edge_days.to_at) as ended_at,
        {{ unnest_list('records.node_ids') }} as node_id
    from records
    inner join edge_days
        on
            records.cluster_id = edge_days.cluster_id
            and records.started_at < edge_days.to_at
            and records.observed_until_at > edge_days.from_at

),

counted_stays as (

    select
        *,
        {{ start_of_unshared_time('cluster_id, node_id, day_date, from_at') }} as counted_from
    from stays

)

select
    cluster_id,
    node_id,
    day_date,
    {{ exact_sum('greatest(0, ' ~ seconds_between('counted_from', 'ended_at') ~ ')') }} as used_seconds
from counted_stays
group by cluster_id, node_id, day_date
