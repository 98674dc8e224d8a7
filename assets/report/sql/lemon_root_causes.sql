-- What the repair tickets of the lemons name. One row per cluster and root cause.
select * from estimates.est_lemon_root_causes
order by cluster_id, node_count desc, root_cause
