{#-
    Failures that have a thing in common within ten minutes, each linked to the first of them, in both directions.

    things: CTE of (cluster_id, attempt_id, failed_at, thing).
-#}
{% macro links_of_bursts(things) -%}
    with

    gaps as (

        select
            *,
            lag(failed_at) over (
                partition by cluster_id, thing
                order by failed_at, attempt_id
            ) as previous_failed_at
        from {{ things }}

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

    links as (

        select distinct
            cluster_id,
            attempt_id,
            first_value(attempt_id) over (
                partition by cluster_id, thing, burst_number
                order by attempt_id
            ) as linked_attempt_id
        from bursts

    )

    -- Most failures share a burst with nobody else: they are done before the linking starts.
    select
        cluster_id,
        attempt_id,
        linked_attempt_id
    from links
    where attempt_id != linked_attempt_id

    union all

    select
        cluster_id,
        linked_attempt_id as attempt_id,
        attempt_id as linked_attempt_id
    from links
    where attempt_id != linked_attempt_id
{%- endmacro %}
