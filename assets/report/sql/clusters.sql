-- The clusters of the report, real ones first. One row per cluster.
select
    *,
    cluster_id in (select cluster_id from raw.clusters where report_names = 'hidden') as are_names_hidden
from marts.dim_clusters
order by is_simulated, cluster_id
