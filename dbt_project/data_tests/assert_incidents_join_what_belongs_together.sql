-- Likely failures of one culprit, or of one event over several nodes, that lie within ten minutes are in one incident.
{{ config(tags=['judged_with_the_code']) }}

with

failures as (

    select * from {{ ref('fct_failures') }}
    where posterior_probability >= 0.5

),

shared_things as (

    select
        cluster_id,
        'node ' || culprit_node_id as thing,
        incident_id,
        failed_at,
        attempt_id
    from failures
    where culprit_node_id is not null
    union all
    select
        cluster_id,
        'shared event ' || shared_event_id as thing,
        incident_id,
        failed_at,
        attempt_id
    from failures
    where shared_event_id is not null

),

followed as (

    select
        *,
        lead(incident_id) over (
            partition by cluster_id, thing
            order by failed_at, attempt_id
        ) as next_incident_id,
        lead(failed_at) over (
            partition by cluster_id, thing
            order by failed_at, attempt_id
        ) as next_failed_at
    from shared_things

)

select
    cluster_id,
    thing,
    incident_id,
    next_incident_id
from followed
where
    next_incident_id != incident_id
    and next_failed_at <= failed_at + interval 600 second
