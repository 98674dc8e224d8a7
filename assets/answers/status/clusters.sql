-- How new the data of each cluster is. One row per cluster.
select
    clusters.cluster_id,
    clusters.is_simulated,
    clusters.data_through_at,
    clusters.is_stale,
    clusters.stale_reason,
    clusters.built_at,
    coalesce(attempts.record_count, 0) as record_count,
    attempts.newest_at,
    if(clusters.has_accounting, null, recorded.recorded_count) as recorded_count,
    recorded.last_recorded_at
from marts.dim_clusters as clusters
left join (
    select cluster_id, count(*) as record_count, max(ended_at) as newest_at from marts.fct_attempts group by all
) as attempts using (cluster_id)
left join (
    select cluster_id, count(*) as recorded_count, max(started_at) as last_recorded_at
    from marts.fct_unit_failures
    group by all
) as recorded using (cluster_id)
order by clusters.cluster_id
