-- Causes, against the category under which the logs let a failure be found.
with

pairs as (

    select
        -- An event that broke several nodes of a job shows what any of them shows.
        case
            when exists (
                select 1
                from truth.broken_beside as beside
                where
                    beside.attempt_id = truth.failures.attempt_id
                    and beside.node = found.failures.culprit_node_id
                    and list_contains(beside.categories, found.failures.failure_category)
            ) then found.failures.failure_category
            else truth.failures.visible_category
        end as planted_category,
        found.failures.failure_category as published_category
    from truth.failures
    full join found.failures using (attempt_id)

),

categories as (

    select planted_category as item from pairs
    union
    select published_category from pairs

)

select
    categories.item,
    count(*) filter (pairs.published_category = categories.item) as published,
    count(*) filter (pairs.planted_category = categories.item) as planted,
    count(*) filter (
        pairs.published_category = categories.item and pairs.planted_category = categories.item
    ) as recovered
from categories
cross join pairs
where categories.item is not null
group by categories.item
order by planted desc, categories.item
