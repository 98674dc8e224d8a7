-- MTTF by job size. One row per cluster and size bin.
select
    cluster_id,
    gpu_size_bin,
    failure_count,
    runtime_hours,
    mttf_hours,
    mttf_hours_low,
    mttf_hours_high,
    mttf_theory_hours,
    mttf_theory_hours_low,
    mttf_theory_hours_high,
    confidence_level,
    event_count
from estimates.est_mttf_by_size
order by cluster_id, gpu_size_bin
