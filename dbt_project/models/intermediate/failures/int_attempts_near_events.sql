with

attempts as (

    select * from {{ ref('int_attempts') }}

),

clusters as (

    select * from {{ ref('stg_config__clusters') }}

),

events as (

    select * from {{ ref('fct_health_events') }}
    where is_evidence

),

het_failures as (

    select * from {{ ref('int_het_failures_joined') }}

),

event_quarter_hours as (

    select
        events.cluster_id,
        events.node_id,
        {{ unnest_integer_range(
            quarter_hour(
                'events.observed_at - '
                ~ seconds_interval('cast(' ~ widest_after_seconds('clusters') ~ ' as bigint)')
            ),
            quarter_hour(
                'events.observed_at + '
                ~ seconds_interval('cast(' ~ widest_before_seconds('clusters') ~ ' as bigint)')
            )
        ) }} as quarter_hour
    from events
    inner join clusters on events.cluster_id = clusters.cluster_id

),

-- One number for cluster, node and quarter of an hour: two that fell together would only let an attempt more through.
event_moments as (

    select distinct {{ hash_columns(['cluster_id', 'node_id', 'quarter_hour']) }} as moment_key
    from event_quarter_hours

),

attempt_quarter_hours as (

    select
        *,
        {{ quarter_hour('started_at') }} as start_quarter_hour,
        {{ quarter_hour('ended_at') }} as end_quarter_hour,
        {{ unnest_list('node_ids') }} as node_id
    from attempts

)

select distinct
    cluster_id,
    attempt_id,
    state,
    is_terminal,
    gpu_count,
    started_at,
    ended_at,
    node_ids
from attempt_quarter_hours
where
    {{ hash_columns(['cluster_id', 'node_id', 'start_quarter_hour']) }} in (select moment_key from event_moments)
    or {{ hash_columns(['cluster_id', 'node_id', 'end_quarter_hour']) }} in (select moment_key from event_moments)
    -- The event may have been on a node of another component.
    or attempt_id in (select het_failures.attempt_id from het_failures)
