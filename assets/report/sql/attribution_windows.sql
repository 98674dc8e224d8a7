-- What attribution would explain with other windows. One row per cluster and window.
select * from estimates.est_attribution_windows
order by cluster_id, before_seconds, after_seconds
