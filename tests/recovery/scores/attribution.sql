-- Failures that left evidence: by the posterior probability, and by the paper's rule, which takes every event in the
-- window for a cause. What left no evidence is neither right nor wrong here.
with

pairs as (

    select
        truth.failures.attempt_id is not null as is_planted,
        coalesce(truth.failures.has_evidence, false) as has_evidence,
        found.failures.attempt_id is not null as is_published,
        coalesce(found.failures.posterior_probability >= 0.5, false) as is_probable
    from truth.failures
    full join found.failures using (attempt_id)

)

select
    'failures with evidence, at p >= 0.5' as item,
    count(*) filter (is_probable and (has_evidence or not is_planted)) as published,
    count(*) filter (has_evidence) as planted,
    count(*) filter (is_probable and has_evidence) as recovered
from pairs
union all
select
    'failures with evidence, by the paper''s rule',
    count(*) filter (is_published and (has_evidence or not is_planted)),
    count(*) filter (has_evidence),
    count(*) filter (is_published and has_evidence)
from pairs
