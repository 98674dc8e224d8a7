with

attempts as (

    select * from {{ ref('int_attempts_resolved') }}
    where
        is_terminal
        and started_at is not null
        and ended_at > started_at

),

nodes as (

    select
        cluster_id,
        node_id,
        {{ hash_of(['cluster_id', 'node_id']) }} as node_key
    from {{ ref('int_node_sightings') }}

),

-- One number for cluster and node is what makes millions of stays sort in seconds.
stays as (

    select
        {{ hash_of(['cluster_id', 'node_id']) }} as node_key,
        started_at,
        ended_at
    from (
        select
            cluster_id,
            started_at,
            ended_at,
            {{ unnested('node_ids') }} as node_id
        from attempts
    ) as node_attempts

),

-- Jobs share a node: each stay counts from when those before it have left.
ordered_stays as (

    select
        node_key,
        started_at,
        ended_at,
        max(ended_at) over (
            partition by node_key
            order by started_at, ended_at
            rows between unbounded preceding and 1 preceding
        ) as busy_until
    from stays

),

new_stays as (

    select
        node_key,
        greatest(started_at, coalesce(busy_until, started_at)) as started_at,
        ended_at
    from ordered_stays
    where ended_at > coalesce(busy_until, started_at)

),

-- Most stays end on the day they began and need no expansion.
stay_days as (

    select
        node_key,
        cast(started_at as date) as day_date,
        started_at,
        ended_at
    from new_stays
    where cast(started_at as date) = cast(ended_at as date)

    union all

    select
        node_key,
        day_date,
        greatest(started_at, cast(day_date as timestamp)) as started_at,
        least(ended_at, cast(day_date as timestamp) + interval 1 day) as ended_at
    from (
        select
            *,
            {{ unnested_days('cast(started_at as date)', 'cast(ended_at as date)') }} as day_date
        from new_stays
        where cast(started_at as date) < cast(ended_at as date)
    ) as longer_stays

),

days as (

    select
        node_key,
        day_date,
        {{ exact_sum(seconds_between('started_at', 'ended_at')) }} as used_seconds
    from stay_days
    group by node_key, day_date

)

select
    nodes.cluster_id,
    nodes.node_id,
    days.day_date,
    days.used_seconds
from days
inner join nodes on days.node_key = nodes.node_key
