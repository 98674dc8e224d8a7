{#-
    Attempts that began or ended on a node near one of the events, at most a quarter of an hour beyond the window.

    attempts: the table, because a CTE that is read twice would be computed and stored first. event_quarter_hours: as in
    evidence_near_ends. het_failures: CTE of attempts whose event may have been on a node of another component.
-#}
{% macro attempts_near_events(attempts, event_quarter_hours, het_failures) -%}
    with

    -- A hash of cluster, node and quarter of an hour. A collision is harmless: it adds one attempt.
    event_moments as (

        select distinct {{ hash_columns(['cluster_id', 'node_id', 'quarter_hour']) }} as moment_key
        from {{ event_quarter_hours }}

    ),

    attempt_nodes as (

        select
            cluster_id,
            attempt_id,
            {{ quarter_hour('started_at') }} as start_quarter_hour,
            {{ quarter_hour('ended_at') }} as end_quarter_hour,
            {{ unnest_list('node_ids') }} as node_id
        from {{ attempts }}

    ),

    near_events as (

        select distinct attempt_id
        from attempt_nodes
        where
            {{ hash_columns(['cluster_id', 'node_id', 'start_quarter_hour']) }} in (
                select moment_key from event_moments
            )
            or {{ hash_columns(['cluster_id', 'node_id', 'end_quarter_hour']) }} in (
                select moment_key from event_moments
            )

    )

    select
        cluster_id,
        attempt_id,
        state,
        is_terminal,
        gpu_count,
        started_at,
        ended_at,
        runtime_seconds,
        node_count,
        node_ids
    from {{ attempts }}
    where
        attempt_id in (
            select attempt_id from near_events
            union all
            select {{ het_failures }}.attempt_id from {{ het_failures }}
        )
{%- endmacro %}
