with clusters as (
    select cluster_id from {{ ref('dim_clusters') }}
),

controls as (
    select
        cluster_id,
        failure_category,
        gpu_size_bin,
        is_control,
        attempt_count,
        hit_count
    from {{ ref('agg_attribution_controls') }}
    where is_configured
)

select
    controls.cluster_id,
    controls.failure_category,
    controls.gpu_size_bin,
    coalesce(cast(sum(controls.hit_count) filter (not controls.is_control) as bigint), 0) as failed_hit_count,
    coalesce(cast(sum(controls.attempt_count) filter (not controls.is_control) as bigint), 0) as failed_count,
    coalesce(cast(sum(controls.hit_count) filter (controls.is_control) as bigint), 0) as control_hit_count,
    coalesce(cast(sum(controls.attempt_count) filter (controls.is_control) as bigint), 0) as control_count
from controls
inner join clusters using (cluster_id)
group by controls.cluster_id, controls.failure_category, controls.gpu_size_bin
