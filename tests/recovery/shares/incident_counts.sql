-- Incidents published for each planted one among the failures that the logs show.
with

failures as (

    select
        truth.failures.incident_number,
        found.failures.incident_id
    from truth.failures
    full join found.failures using (attempt_id)
    where found.failures.attempt_id is not null or truth.failures.visible_category is not null

)

select
    'incidents published, of incidents planted' as item,
    count(distinct incident_id) as count,
    count(distinct incident_number) as total
from failures
