{#-
    CTE of each failure's incident: failures that share something within ten minutes, directly or through others, are
    one.

    failures: CTE of the model's failures. likely_failures: failures that may share something with others.
    shared_events: CTE of (cluster_id, attempt_id, failed_at, shared_event_id). het_failures: pairs of components.
    chained_jobs: CTE of the runs of jobs.
-#}
{% macro incidents_of_failures(failures, likely_failures, shared_events, het_failures, chained_jobs) -%}
    with

    failed_nodes as (

        select
            cluster_id,
            attempt_id,
            failed_at,
            {{ unnest_list(
                'case when culprit_node_id is null then node_ids else ' ~ list_literal(['culprit_node_id']) ~ ' end'
            ) }} as node_id
        from {{ likely_failures }}

    ),

    -- What failures can share: their culprit (any of their nodes, if unknown), the event, the heterogeneous job to
    -- which they belong, or the run with failing prologs.
    shared_things as (

        select
            cluster_id,
            attempt_id,
            failed_at,
            'node ' || node_id as thing
        from failed_nodes

        union all

        select
            cluster_id,
            attempt_id,
            failed_at,
            'event ' || event_id as thing
        from {{ likely_failures }}
        where event_id is not null

        union all

        select
            cluster_id,
            attempt_id,
            failed_at,
            'shared event ' || shared_event_id as thing
        from {{ shared_events }}

        union all

        select
            failures.cluster_id,
            failures.attempt_id,
            failures.failed_at,
            'component ' || least(failures.attempt_id, het_failures.partner_attempt_id) as thing
        from {{ likely_failures }} as failures
        inner join {{ het_failures }} as het_failures
            on
                failures.cluster_id = het_failures.cluster_id
                and failures.attempt_id = het_failures.attempt_id

        union all

        select
            failures.cluster_id,
            failures.attempt_id,
            failures.failed_at,
            'prolog of ' || coalesce(chained_jobs.run_id, failures.job_key) as thing
        from {{ likely_failures }} as failures
        left join {{ chained_jobs }} as chained_jobs
            on
                failures.cluster_id = chained_jobs.cluster_id
                and failures.job_key = chained_jobs.job_key
        where failures.attribution_rule = 'prolog_failure'

    ),

    gaps as (

        select
            *,
            lag(failed_at) over (
                partition by cluster_id, thing
                order by failed_at, attempt_id
            ) as previous_failed_at
        from shared_things

    ),

    bursts as (

        select
            *,
            sum(case when failed_at <= previous_failed_at + interval 600 second then 0 else 1 end) over (
                partition by cluster_id, thing
                order by failed_at, attempt_id
                rows between unbounded preceding and current row
            ) as burst_number
        from gaps

    ),

    bursts_joined as (

        select distinct
            cluster_id,
            attempt_id,
            first_value(attempt_id) over (
                partition by cluster_id, thing, burst_number
                order by attempt_id
            ) as linked_attempt_id
        from bursts

    ),

    links as (

        -- Most failures are alone in their burst and need no linking.
        select
            cluster_id,
            attempt_id,
            linked_attempt_id
        from bursts_joined
        where attempt_id != linked_attempt_id

        union all

        select
            cluster_id,
            linked_attempt_id as attempt_id,
            attempt_id as linked_attempt_id
        from bursts_joined
        where attempt_id != linked_attempt_id

    ),

    components as (

        {{ connected_failures(failures, 'links') | indent(8) }}

    )

    -- The ids of attempts and incidents begin with the cluster's name.
    select
        cluster_id,
        attempt_id,
        first_value(attempt_id) over (
            partition by cluster_id, label
            order by failed_at, attempt_id
        ) as incident_id
    from components
{%- endmacro %}
