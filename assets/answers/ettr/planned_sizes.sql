-- Checkpoint plans with the meaning of their sizes. One row per cluster and size.
-- The quoted sizes are the largest job that ran, the whole cluster, and 1,024 and 4,096 GPUs.
with known as (
    select
        cluster_id,
        max(gpu_count) filter (where is_largest_job) as largest_count,
        max(gpu_count) filter (where is_cluster_size) as cluster_count
    from estimates.est_mttf_projections
    group by cluster_id
),

sizes as (
    select
        plans.*,
        known.largest_count,
        known.cluster_count,
        coalesce(plans.gpu_count = known.cluster_count, false) as is_cluster_size,
        coalesce(plans.gpu_count = known.largest_count, false) as is_largest_job
    from estimates.est_checkpoint_plans as plans
    left join known using (cluster_id)
)

select
    *,
    is_cluster_size or is_largest_job or gpu_count in (1024, 4096) as is_quoted,
    concat_ws(
        ', ',
        if(is_cluster_size, 'whole cluster', null),
        if(is_largest_job, 'largest run', null),
        if(gpu_count > largest_count, 'an extrapolation', null),
        if(gpu_count > cluster_count, 'larger than the cluster', null)
    ) as meaning
from sizes
order by cluster_id, gpu_count
