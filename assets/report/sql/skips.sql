-- Lines skipped, by reason. One row per cluster and reason.
select cluster_id, reason, sum(line_count) as line_count, count(distinct path) as file_count
from ops.skips
group by all
order by cluster_id, line_count desc, reason
