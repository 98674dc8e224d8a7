with

suspects as (

    select * from {{ ref('int_failures_suspected') }}

),

culprits as (

    select * from {{ ref('int_culprits_named') }}

),

attempts as (

    select * from {{ ref('int_attempts_resolved') }}

),

events as (

    select * from {{ ref('fct_health_events') }}
    where is_evidence

),

priorities as (

    select * from {{ ref('int_failure_category_priorities') }}

),

-- Where Slurm names the node that failed the job, what happened on the others is a coincidence.
suspect_nodes as (

    select
        cluster_id,
        attempt_id,
        started_at,
        ended_at,
        window_start_at,
        window_end_at,
        unnest(node_ids) as node_id
    from suspects
    where
        not exists (
            select 1
            from culprits
            where
                suspects.cluster_id = culprits.cluster_id
                and suspects.attempt_id = culprits.attempt_id
        )

    union all

    select
        suspects.cluster_id,
        suspects.attempt_id,
        suspects.started_at,
        suspects.ended_at,
        suspects.window_start_at,
        suspects.window_end_at,
        culprits.node_id
    from suspects
    inner join culprits
        on
            suspects.cluster_id = culprits.cluster_id
            and suspects.attempt_id = culprits.attempt_id

),

-- Quarters of an hour make the window an equality: by node alone, a million failed attempts would meet all events.
suspect_quarter_hours as (

    select
        *,
        unnest(generate_series(
            {{ quarter_hour('window_start_at') }}, {{ quarter_hour('window_end_at') }}
        )) as quarter_hour
    from suspect_nodes

),

events_in_window as (

    select
        suspects.cluster_id,
        suspects.attempt_id,
        suspects.ended_at,
        events.event_id,
        events.node_id,
        events.failure_category,
        events.origin,
        events.observed_at,
        events.last_ok_at,
        events.is_point_event
    from suspect_quarter_hours as suspects
    inner join events
        on
            suspects.cluster_id = events.cluster_id
            and suspects.node_id = events.node_id
            and suspects.quarter_hour = {{ quarter_hour('events.observed_at') }}
            and suspects.window_start_at <= events.observed_at
            and suspects.window_end_at >= events.observed_at
    -- What was broken before the attempt began is no onset during it.
    where coalesce(suspects.started_at <= events.observed_at, true)

),

starts as (

    select
        cluster_id,
        attempt_id,
        started_at,
        unnest(node_ids) as node_id
    from attempts
    where started_at is not null

),

-- Slurm's times are whole seconds: only a second later is certainly after the end.
starts_after_end as (

    select distinct
        events_in_window.cluster_id,
        events_in_window.attempt_id,
        events_in_window.event_id
    from events_in_window
    inner join starts as later_attempts
        on
            events_in_window.cluster_id = later_attempts.cluster_id
            and events_in_window.node_id = later_attempts.node_id
            and events_in_window.ended_at <= later_attempts.started_at
            and events_in_window.observed_at >= later_attempts.started_at
            and events_in_window.attempt_id != later_attempts.attempt_id
    where
        events_in_window.is_point_event
        and events_in_window.observed_at >= events_in_window.ended_at + interval 1 second

),

-- A symptom that demonstrably began after the end belongs to what came next on the node.
timely_events as (

    select events_in_window.*
    from events_in_window
    left join starts_after_end
        on
            events_in_window.cluster_id = starts_after_end.cluster_id
            and events_in_window.attempt_id = starts_after_end.attempt_id
            and events_in_window.event_id = starts_after_end.event_id
    where
        starts_after_end.event_id is null
        and (
            events_in_window.is_point_event
            or events_in_window.last_ok_at is null
            or events_in_window.last_ok_at < events_in_window.ended_at + interval 1 second
        )

)

select
    timely_events.cluster_id,
    timely_events.attempt_id,
    timely_events.event_id,
    timely_events.node_id,
    timely_events.failure_category,
    timely_events.origin,
    timely_events.observed_at,
    {{ seconds_between('timely_events.ended_at', 'timely_events.observed_at') }} as lag_seconds,
    row_number() over (
        partition by timely_events.cluster_id, timely_events.attempt_id
        order by
            priorities.priority nulls last,
            abs({{ seconds_between('timely_events.ended_at', 'timely_events.observed_at') }}),
            timely_events.event_id
    ) as evidence_rank
from timely_events
left join priorities
    on
        timely_events.cluster_id = priorities.cluster_id
        and timely_events.failure_category = priorities.failure_category
