-- The node at fault, of the failures that were found and that the logs show.
select
    'culprit nodes' as item,
    count(found.failures.culprit_node_id) as published,
    count(*) as planted,
    count(*) filter (found.failures.culprit_node_id = truth.failures.culprit_node) as recovered
from truth.failures
inner join found.failures using (attempt_id)
where truth.failures.visible_category is not null
