-- Infrastructure failures: those the logs show, then all that happened.
with

pairs as (

    select
        truth.failures.attempt_id is not null as is_planted,
        truth.failures.visible_category is not null as is_visible,
        found.failures.attempt_id is not null as is_published
    from truth.failures
    full join found.failures using (attempt_id)

)

select
    'failures that the logs show' as item,
    count(*) filter (is_published and (is_visible or not is_planted)) as published,
    count(*) filter (is_visible) as planted,
    count(*) filter (is_published and is_visible) as recovered
from pairs
union all
select
    'all failures',
    count(*) filter (is_published),
    count(*) filter (is_planted),
    count(*) filter (is_published and is_planted)
from pairs
