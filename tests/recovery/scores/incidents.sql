-- Pairs of failures in the same incident, counted from group sizes, and the incidents themselves.
with

failures as (

    select
        coalesce(truth.failures.attempt_id, found.failures.attempt_id) as attempt_id,
        truth.failures.fault_number,
        truth.failures.incident_number,
        found.failures.incident_id
    from truth.failures
    full join found.failures using (attempt_id)
    where found.failures.attempt_id is not null or truth.failures.visible_category is not null

),

groups as (

    select 'published' as kind, count(*) as size from failures where incident_id is not null group by incident_id
    union all
    select 'fault', count(*) from failures where fault_number is not null group by fault_number
    union all
    select 'incident', count(*) from failures where incident_number is not null group by incident_number
    union all
    select 'both fault', count(*)
    from failures
    where incident_id is not null and fault_number is not null
    group by incident_id, fault_number
    union all
    select 'both incident', count(*)
    from failures
    where incident_id is not null and incident_number is not null
    group by incident_id, incident_number

),

sums as (

    select
        kind,
        count(*) as group_count,
        sum(size * (size - 1) // 2) as pair_count
    from groups
    group by kind

),

numbers as (

    select
        coalesce(max(pair_count) filter (kind = 'published'), 0) as published,
        coalesce(max(pair_count) filter (kind = 'fault'), 0) as fault,
        coalesce(max(pair_count) filter (kind = 'incident'), 0) as incident,
        coalesce(max(pair_count) filter (kind = 'both fault'), 0) as both_fault,
        coalesce(max(pair_count) filter (kind = 'both incident'), 0) as both_incident
    from sums

)

-- A switch's or a store's event is one incident that strikes several nodes, each by a fault of its own.
select
    'pairs of failures of one fault' as item,
    published,
    fault as planted,
    both_fault as recovered
from numbers
union all
select
    'pairs of failures of one incident',
    published,
    incident,
    both_incident
from numbers
