-- The node at fault, or one that the same event broke beside it, of the failures that were found and that the logs show.
select
    'culprit nodes' as item,
    count(found.failures.culprit_node_id) as published,
    count(*) as planted,
    count(*) filter (
        found.failures.culprit_node_id = truth.failures.culprit_node
        or (attempt_id, found.failures.culprit_node_id) in (select (attempt_id, node) from truth.broken_beside)
    ) as recovered
from truth.failures
inner join found.failures using (attempt_id)
where truth.failures.visible_category is not null
