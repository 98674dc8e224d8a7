with

kernel_messages as (

    select * from {{ ref('stg_kernel__messages') }}

),

slurmctld_events as (

    select * from {{ ref('stg_slurmctld__events') }}

),

-- Boot time in the kernel log, by the node's clock.
by_node_clock as (

    select
        cluster_id,
        node_id,
        occurred_at as booted_at
    from kernel_messages
    where
        kind = 'boot'
        and node_id is not null

),

-- The controller computes the boot time from its own clock and the node's uptime.
by_controller_clock as (

    select
        cluster_id,
        node_id,
        {{ told_boot_time() }} as booted_at
    from slurmctld_events
    where
        kind = 'node_rebooted'
        and node_id is not null

),

pairs as (

    select
        by_controller_clock.cluster_id,
        by_controller_clock.node_id,
        by_controller_clock.booted_at,
        by_node_clock.booted_at as shown_booted_at,
        {{ seconds_between('by_controller_clock.booted_at', 'by_node_clock.booted_at') }} as ahead_seconds
    from by_controller_clock
    inner join by_node_clock
        on
            by_controller_clock.cluster_id = by_node_clock.cluster_id
            and by_controller_clock.node_id = by_node_clock.node_id
            and by_node_clock.booted_at >= by_controller_clock.booted_at - interval 6 hour
            and by_node_clock.booted_at <= by_controller_clock.booted_at + interval 6 hour
    qualify
        row_number() over (
            partition by by_controller_clock.cluster_id, by_controller_clock.node_id, by_controller_clock.booted_at
            order by abs({{ seconds_between('by_controller_clock.booted_at', 'by_node_clock.booted_at') }}) asc
        ) = 1

),

-- If a clock is set, or only the controller keeps summer time, the lead changes at a boot.
compared as (

    select
        *,
        lag(booted_at) over node_boots is not null as is_later_boot,
        coalesce(
            abs(ahead_seconds - lag(ahead_seconds) over node_boots) > 60,
            false
        ) as is_change
    from pairs
    window node_boots as (
        partition by cluster_id, node_id
        order by booted_at
    )

),

unchanged as (

    select
        *,
        sum(case when is_change then 1 else 0 end) over (
            partition by cluster_id, node_id
            order by booted_at
            rows between unbounded preceding and current row
        ) as stretch_number
    from compared

),

agreeing as (

    select
        *,
        count(*) over stretch as agreeing_boot_count,
        max(ahead_seconds) over stretch - min(ahead_seconds) over stretch > 60 as is_drifting
    from unchanged
    window stretch as (partition by cluster_id, node_id, stretch_number)

),

-- Adjacent boots of a drifting clock agree, but not all boots do: measure its lead again at each boot.
numbered as (

    select
        *,
        cast(sum(case when is_change or (is_drifting and is_later_boot) then 1 else 0 end) over (
            partition by cluster_id, node_id
            order by booted_at
            rows between unbounded preceding and current row
        ) as integer) as span_number
    from agreeing

),

measured as (

    select
        cluster_id,
        node_id,
        span_number,
        count(*) as boot_count,
        min(agreeing_boot_count) as agreeing_boot_count,
        median(ahead_seconds) as ahead_seconds,
        min(shown_booted_at) as shown_from_at
    from numbered
    group by cluster_id, node_id, span_number

),

-- After a clock was set back, a span may seem to begin before the previous one. Spans must not overlap.
bounded as (

    select
        *,
        case
            when span_number > 0
                then max(case when span_number > 0 then shown_from_at end) over (
                    partition by cluster_id, node_id
                    order by span_number
                    rows between unbounded preceding and current row
                )
        end as from_at
    from measured

)

select
    cluster_id,
    node_id,
    span_number,
    boot_count,
    ahead_seconds,
    -- Logging starts up to half a minute after the boot, and one boot may be matched with another.
    case when agreeing_boot_count >= 2 and abs(ahead_seconds) > 60 then ahead_seconds else 0 end as corrected_seconds,
    from_at,
    lead(from_at) over (partition by cluster_id, node_id order by span_number) as to_at
from bounded
