-- Warnings, repeats of other events, planned work, repair and whatever is never a cause prove nothing.
{{ config(tags=['judged_with_the_code']) }}

with

events as (

    select * from {{ ref('fct_health_events') }}

),

categories as (

    select * from {{ ref('dim_failure_categories') }}

)

select
    events.cluster_id,
    events.event_id,
    events.failure_category,
    events.result,
    events.duplicate_of_event_id
from events
inner join categories on events.failure_category = categories.failure_category
where
    events.is_evidence
    and (
        not categories.is_cause
        or not categories.is_infrastructure
        or events.result = 'WARN'
        or events.duplicate_of_event_id is not null
    )
