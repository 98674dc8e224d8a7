-- Outcome of the last refresh for each cluster. One row per cluster that has numbers or could not be built.
with failures as (
    select
        cluster_id,
        first(stage order by failed_at, reason) as stage,
        list(reason order by failed_at, reason) as reasons
    from ops.cluster_failures
    where run_id = (select run_id from ops.runs order by rowid desc limit 1)
    group by cluster_id
)

select
    cluster_id,
    -- built: numbers of this refresh; last good: numbers of an earlier one; no numbers: none from any refresh
    case
        when failures.cluster_id is null then 'built'
        when clusters.cluster_id is null then 'no numbers'
        else 'last good'
    end as cluster_end,
    coalesce(clusters.is_simulated, false) as is_simulated,
    cluster_id in (select cluster_id from raw.clusters where report_names = 'hidden') as are_names_hidden,
    coalesce(clusters.is_stale, false) as is_stale, -- also if it was built without its newest accounting
    clusters.stale_reason,
    clusters.built_at,
    clusters.data_through_at,
    failures.stage,
    failures.reasons
from marts.dim_clusters as clusters
full join failures using (cluster_id)
