{#-
    CTE of evidence on the nodes of attempts around their ends, by the rules of attribution: inside the window, begun
    during the attempt, and not clearly after it.

    ends: CTE of (cluster_id, attempt_id, started_at, ended_at, window_start_at, window_end_at, node_id), a row per
    node. attempts: CTE of those that began or ended near an event. event_quarter_hours: CTE of the events, a row for
    each quarter of an hour in which an attempt may have ended or followed. Some thousand events join millions of
    attempts by equality; by node alone each would join all attempts of the node.
-#}
{% macro evidence_near_ends(ends, attempts, event_quarter_hours) -%}
    with

    events_in_window as (

        select
            near_ends.cluster_id,
            near_ends.attempt_id,
            near_ends.ended_at,
            events.event_id,
            events.node_id,
            events.failure_category,
            events.origin,
            events.observed_at,
            events.last_ok_at,
            events.is_point_event
        from {{ ends }} as near_ends
        inner join {{ event_quarter_hours }} as events
            on
                near_ends.cluster_id = events.cluster_id
                and near_ends.node_id = events.node_id
                and {{ quarter_hour('near_ends.ended_at') }} = events.quarter_hour
                and near_ends.window_start_at <= events.observed_at
                and near_ends.window_end_at >= events.observed_at
        -- A fault from before the attempt is no onset during it.
        where coalesce(near_ends.started_at <= events.observed_at, true)

    ),

    starts as (

        select
            cluster_id,
            attempt_id,
            started_at,
            {{ quarter_hour('started_at') }} as quarter_hour,
            {{ unnest_list('node_ids') }} as node_id
        from {{ attempts }}
        where started_at is not null

    ),

    preceding_starts as (

        select
            events.cluster_id,
            events.event_id,
            starts.attempt_id,
            starts.started_at
        from starts
        inner join {{ event_quarter_hours }} as events
            on
                starts.cluster_id = events.cluster_id
                and starts.node_id = events.node_id
                and starts.quarter_hour = events.quarter_hour
                and starts.started_at <= events.observed_at
        where events.is_point_event

    ),

    -- Slurm's times are whole seconds: only times at least a second later are certainly after the end.
    starts_after_end as (

        select distinct
            events_in_window.cluster_id,
            events_in_window.attempt_id,
            events_in_window.event_id
        from events_in_window
        inner join preceding_starts
            on
                events_in_window.cluster_id = preceding_starts.cluster_id
                and events_in_window.event_id = preceding_starts.event_id
                and events_in_window.attempt_id != preceding_starts.attempt_id
                and events_in_window.ended_at <= preceding_starts.started_at
        where events_in_window.observed_at >= events_in_window.ended_at + interval 1 second

    )

    -- A symptom that clearly began after the end belongs to the node's next attempt.
    select
        events_in_window.cluster_id,
        events_in_window.attempt_id,
        events_in_window.event_id,
        events_in_window.node_id,
        events_in_window.failure_category,
        events_in_window.origin,
        events_in_window.observed_at,
        {{ seconds_between('events_in_window.ended_at', 'events_in_window.observed_at') }} as lag_seconds
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
{%- endmacro %}
