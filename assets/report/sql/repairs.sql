-- Finished unplanned outages and their mean hours, to the tenth of an hour.
select
    cluster_id,
    count(*) as repair_count,
    greatest(round(avg(epoch(ended_at) - epoch(started_at)) / 3600, 1), 0.1) as repair_hours
from marts.fct_node_outages
where not is_planned and ended_at is not null
group by cluster_id
