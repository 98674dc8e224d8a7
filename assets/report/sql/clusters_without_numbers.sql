-- Clusters that could not be built and have no earlier numbers to show. One row per cluster.
select cluster_id, string_agg(reason, '; ' order by failed_at, reason) as reason
from ops.cluster_failures
anti join marts.dim_clusters using (cluster_id)
where run_id = (select run_id from ops.runs order by rowid desc limit 1)
group by cluster_id
order by cluster_id
