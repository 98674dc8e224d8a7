-- MTTF projected to other sizes. One row per cluster and size.
select
    cluster_id,
    gpu_count,
    is_cluster_size,
    is_largest_job,
    population,
    mttf_hours,
    mttf_hours_low,
    mttf_hours_high,
    confidence_level,
    event_count,
    exposure
from estimates.est_mttf_projections
order by cluster_id, gpu_count
