with

events as (

    select * from {{ ref('int_health_events') }}
    where check_name != 'sxid'

),

tickets as (

    select * from {{ ref('stg_tickets__repairs') }}

),

outages as (

    select * from {{ ref('int_node_outages') }}
    where not coalesce(is_planned, false)

),

attempts as (

    select * from {{ ref('int_attempts') }}
    where
        is_terminal
        and started_at is not null
        and node_count = 1

),

codes as (

    select distinct
        cluster_id,
        node_id,
        cast(observed_at as date) as day_date,
        {{ unnest_list('codes') }} as code
    from events

),

happenings as (

    select
        cluster_id,
        node_id,
        'ticket' as signal,
        cast(opened_at as date) as day_date
    from tickets

    union all

    select
        cluster_id,
        node_id,
        'outage' as signal,
        cast(started_at as date) as day_date
    from outages

    union all

    select
        cluster_id,
        {{ first_item('node_ids') }} as node_id,
        'single_node_attempt' as signal,
        cast(ended_at as date) as day_date
    from attempts

)

-- A code counts once even if it repeats: up to its next time, or to the end of its own window.
select
    cluster_id,
    node_id,
    'code' as signal,
    day_date as first_date,
    day_date as last_date,
    lead(day_date) over (
        partition by cluster_id, node_id, code
        order by day_date
    ) as next_date,
    1 as amount
from codes

union all

select
    cluster_id,
    node_id,
    signal,
    day_date as first_date,
    day_date as last_date,
    cast(null as date) as next_date,
    count(*) as amount
from happenings
group by cluster_id, node_id, signal, day_date
