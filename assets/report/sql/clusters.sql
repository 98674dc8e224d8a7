-- The clusters of the report, real ones first. One row per cluster.
select
    *,
    epoch(study_to_at - study_from_at) / 86400 - coalesce(gap_days, 0) as study_days,
    cluster_id in (select cluster_id from raw.clusters where report_names = 'hidden') as are_names_hidden,
    cluster_id in (select cluster_id from ops.privacy) as is_pseudonymous,
    cluster_id in (
        select cluster_id
        from marts.dim_nodes
        where rack is not null or switch is not null or nvlink_domain is not null or position is not null
    ) as has_places,
    recorded_count is not null and not has_accounting as has_records_alone
from marts.dim_clusters
left join (
    select cluster_id, recorded_count, unit_days
    from estimates.est_unit_failure_rates
    where cause = 'all'
) as recorded using (cluster_id)
left join (
    select cluster_id, sum(epoch(to_at - from_at)) / 86400 as gap_days
    from marts.dim_study_gaps
    group by cluster_id
) as gaps using (cluster_id)
order by is_simulated, cluster_id
