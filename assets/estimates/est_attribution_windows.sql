-- Failed attempts with any evidence, and their control, by cluster, window and size. A cluster in whose logs no fault
-- was ever seen has its configured window all the same, with nothing in it.
with clusters as (
    select cluster_id from marts.dim_clusters
),

settings as (
    select
        cluster_id,
        attribution_before_seconds,
        attribution_after_seconds
    from staging.stg_config__clusters
),

controls as (
    select
        cluster_id,
        before_seconds,
        after_seconds,
        is_configured,
        gpu_size_bin,
        is_control,
        max(attempt_count) as attempt_count,
        cast(sum(hit_count) as bigint) as hit_count
    from marts.agg_attribution_controls
    group by all
),

sizes as (
    select
        cluster_id,
        before_seconds,
        after_seconds,
        is_configured,
        gpu_size_bin,
        coalesce(cast(sum(hit_count) filter (not is_control) as bigint), 0) as failed_hit_count,
        coalesce(cast(sum(attempt_count) filter (not is_control) as bigint), 0) as failed_count,
        coalesce(cast(sum(hit_count) filter (is_control) as bigint), 0) as control_hit_count,
        coalesce(cast(sum(attempt_count) filter (is_control) as bigint), 0) as control_count
    from controls
    group by all
)

select
    clusters.cluster_id,
    coalesce(sizes.before_seconds, settings.attribution_before_seconds) as before_seconds,
    coalesce(sizes.after_seconds, settings.attribution_after_seconds) as after_seconds,
    coalesce(sizes.is_configured, true) as is_configured,
    sizes.gpu_size_bin,
    sizes.failed_hit_count,
    sizes.failed_count,
    sizes.control_hit_count,
    sizes.control_count
from clusters
left join settings using (cluster_id)
left join sizes using (cluster_id)
order by clusters.cluster_id, before_seconds, after_seconds, sizes.gpu_size_bin nulls last
