-- What an event repeats is itself there, on the same node, and repeats nothing.
{{ config(tags=['judged_with_the_code']) }}

with

events as (

    select * from {{ ref('fct_health_events') }}

)

select
    repeats.cluster_id,
    repeats.event_id,
    repeats.duplicate_of_event_id
from events as repeats
left join events as originals
    on
        repeats.cluster_id = originals.cluster_id
        and repeats.node_id = originals.node_id
        and repeats.duplicate_of_event_id = originals.event_id
where
    repeats.duplicate_of_event_id is not null
    and (originals.event_id is null or originals.duplicate_of_event_id is not null)
