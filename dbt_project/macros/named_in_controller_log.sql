{#-
    CTE of the nodes that the controller's log names for attempts.

    suspects: CTE of attempts. slurmctld_events: CTE of the lines about failed prologs and failed nodes.
-#}
{% macro named_in_controller_log(suspects, slurmctld_events) -%}
    with

    -- A line belongs to the job's attempt that ended nearest to it.
    attempts_of_lines as (

        select
            suspects.cluster_id,
            suspects.attempt_id,
            suspects.node_ids,
            suspects.node_count,
            lines.kind,
            lines.node_id,
            lines.logged_at
        from {{ slurmctld_events }} as lines
        inner join {{ suspects }} as suspects
            on
                lines.cluster_id = suspects.cluster_id
                and lines.job_id_raw = suspects.job_id_raw
                and abs({{ seconds_between('suspects.ended_at', 'lines.logged_at') }}) <= 120
        qualify row_number() over (
            partition by
                lines.cluster_id, lines.source_path, lines.source_line_number,
                lines.kind, lines.node_id
            order by abs({{ seconds_between('suspects.ended_at', 'lines.logged_at') }}), suspects.ended_at
        ) = 1

    )

    -- The launch failure names the job. The next line names the node.
    select
        attempts_of_lines.cluster_id,
        attempts_of_lines.attempt_id,
        coalesce(
            attempts_of_lines.node_id,
            slurmctld_events.node_id,
            case when attempts_of_lines.node_count = 1 then {{ first_item('attempts_of_lines.node_ids') }} end
        ) as node_id,
        attempts_of_lines.kind as named_by,
        2 as source_order,
        attempts_of_lines.logged_at as named_at
    from attempts_of_lines
    left join {{ slurmctld_events }} as slurmctld_events
        on
            attempts_of_lines.cluster_id = slurmctld_events.cluster_id
            and attempts_of_lines.kind = slurmctld_events.kind
            and slurmctld_events.kind = 'prolog_failure'
            and slurmctld_events.job_id_raw is null
            and array_contains(attempts_of_lines.node_ids, slurmctld_events.node_id)
            and abs({{ seconds_between('attempts_of_lines.logged_at', 'slurmctld_events.logged_at') }}) <= 2
{%- endmacro %}
