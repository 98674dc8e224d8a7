-- The clusters of the report, real ones first. One row per cluster.
select
    cluster_id,
    is_simulated,
    node_count,
    gpu_count,
    first_at,
    last_at,
    data_through_at,
    checkpoint_minutes,
    has_health_checks,
    has_kernel_messages,
    has_node_events,
    has_slurmctld_log,
    has_tickets,
    has_inventory,
    has_exclusions,
    cluster_id in (select cluster_id from raw.clusters where report_names = 'hidden') as are_names_hidden,
    is_stale,
    stale_reason,
    built_at
from marts.dim_clusters
order by is_simulated, cluster_id
