-- Failures that left no evidence, and what is said of them; then those whose evidence speaks of another cause.
with

pairs as (

    select
        truth.failures.has_evidence,
        truth.failures.true_category,
        truth.failures.visible_category,
        found.failures.failure_category
    from truth.failures
    left join found.failures using (attempt_id)

),

unseen as (

    select * from pairs
    where not has_evidence

)

select
    'failures without evidence' as item,
    count(*) filter (not has_evidence) as count,
    count(*) as total
from pairs
union all
select '... not found', count(*) filter (failure_category is null), count(*)
from unseen
union all
select '... called unattributed', count(*) filter (failure_category = 'node_fail_unattributed'), count(*)
from unseen
union all
select
    '... given a wrong cause',
    count(*) filter (failure_category not in ('node_fail_unattributed', true_category)),
    count(*)
from unseen
union all
select 'failures that show as another cause', count(*) filter (visible_category != true_category), count(*)
from pairs
where has_evidence
