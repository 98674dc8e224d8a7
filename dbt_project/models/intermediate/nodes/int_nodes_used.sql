with

records as (

    select * from {{ ref('int_attempts') }}
    where
        observed_until_at is not null

),

nodes as (

    select
        cluster_id,
        node_id,
        {{ hash_columns(['cluster_id', 'node_id']) }} as node_key
    from {{ ref('int_node_sightings') }}

),

-- One hash of cluster and node sorts millions of stays in seconds. Unknown GPU hours stay NULL.
stays as (

    select
        {{ hash_columns(['cluster_id', 'node_id']) }} as node_key,
        started_at,
        ended_at,
        is_allocation,
        gpu_hours
    from (
        select
            cluster_id,
            started_at,
            observed_until_at as ended_at,
            coalesce(gpu_hours > 0, true) and node_count > 0 as is_allocation,
            case when coalesce(gpu_hours > 0, true) and node_count > 0 then gpu_hours / node_count end as gpu_hours,
            {{ unnest_list('node_ids') }} as node_id
        from records
    ) as node_records

),

-- Most stays end on their first day and need no expansion.
stay_days as (

    select
        node_key,
        cast(started_at as date) as day_date,
        started_at,
        ended_at,
        is_allocation,
        gpu_hours
    from stays
    where cast(started_at as date) = cast(ended_at as date)

    union all

    select
        node_key,
        day_date,
        greatest(started_at, cast(day_date as timestamp)) as started_at,
        least(ended_at, cast(day_date as timestamp) + interval 1 day) as ended_at,
        is_allocation,
        gpu_hours * {{ seconds_between(
            'greatest(started_at, cast(day_date as timestamp))',
            'least(ended_at, cast(day_date as timestamp) + interval 1 day)'
        ) }} / {{ seconds_between('started_at', 'ended_at') }} as gpu_hours
    from (
        select
            *,
            {{ unnest_date_range('cast(started_at as date)', 'cast(ended_at as date)') }} as day_date
        from stays
        where cast(started_at as date) < cast(ended_at as date)
    ) as longer_stays

),

-- Jobs share a node: each stay counts from the end of the stays before it. By day, because a running maximum over few
-- rows takes a fraction of the time.
counted_stay_days as (

    select
        *,
        {{ start_of_unshared_time('node_key, day_date') }} as counted_from
    from stay_days

),

days as (

    select
        node_key,
        day_date,
        {{ exact_sum('greatest(0, ' ~ seconds_between('counted_from', 'ended_at') ~ ')') }} as used_seconds,
        case when bool_or(is_allocation) then {{ exact_sum('gpu_hours') }} else 0 end as allocated_gpu_hours
    from counted_stay_days
    group by node_key, day_date

)

select
    nodes.cluster_id,
    nodes.node_id,
    days.day_date,
    days.used_seconds,
    days.allocated_gpu_hours
from days
inner join nodes on days.node_key = nodes.node_key
