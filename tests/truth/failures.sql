-- Published failures and those of the truth: one row of `judged.failures` for each attempt that is either.
create table judged.failures as
select
    attempt_id,
    truth.failures.attempt_id is not null as is_planted,
    found.failures.attempt_id is not null as is_published,
    truth.failures.visible_category is not null as is_visible,
    coalesce(truth.failures.has_evidence, false) as has_evidence,
    coalesce(truth.failures.state, found.failures.state) as state,
    coalesce(found.failures.posterior_probability >= 0.5, false) as is_probable,
    found.failures.culprit_node_id is not null as has_culprit,
    coalesce(
        found.failures.culprit_node_id = truth.failures.culprit_node
        or (attempt_id, found.failures.culprit_node_id) in (select (attempt_id, node) from truth.broken_beside),
        false
    ) as is_culprit,
    truth.failures.true_category,
    truth.failures.visible_category,
    -- An event that broke several nodes of a job shows what any of them shows.
    if(
        exists (
            select 1
            from truth.broken_beside as neighbours
            where
                neighbours.attempt_id = truth.failures.attempt_id
                and neighbours.node = found.failures.culprit_node_id
                and list_contains(neighbours.categories, found.failures.failure_category)
        ),
        found.failures.failure_category, truth.failures.visible_category
    ) as shown_category,
    found.failures.failure_category,
    truth.failures.fault_number,
    truth.failures.incident_number,
    found.failures.incident_id
from truth.failures
full join found.failures using (attempt_id);

-- Causes: against what the logs show, and against what truly happened, as what leaves no evidence cannot be named.
create table judged.causes as
with pairs as (
    select 'visible' as kind, shown_category as planted_category, failure_category from judged.failures
    union all
    select 'true', true_category, failure_category from judged.failures
)
select
    kind, planted_category as category, true as is_planted, planted_category is not distinct from failure_category
        as is_published
from pairs
where planted_category is not null
union all
select kind, failure_category, false, true
from pairs
where failure_category is distinct from planted_category and failure_category is not null;

-- Pairs of failures that are found or could be: of one published incident, of one fault, of one planted incident.
create table judged.failure_pairs as
with failures as (from judged.failures where is_published or is_visible)
select
    coalesce(one.incident_id = other.incident_id, false) as is_published,
    coalesce(one.fault_number = other.fault_number, false) as is_of_fault,
    coalesce(one.incident_number = other.incident_number, false) as is_planted
from failures as one
inner join failures as other on one.attempt_id < other.attempt_id;

create table judged.incidents as
select distinct incident_id::varchar as incident, true as is_published, false as is_planted
from judged.failures where incident_id is not null
union all
select distinct incident_number::varchar, false, true
from judged.failures where incident_number is not null and (is_published or is_visible);
