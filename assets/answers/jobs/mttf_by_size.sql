-- MTTF by job size, measured and projected. One row per cluster and size that ran or that the rate is projected to.
with measured as (
    select
        cluster_id, gpu_size_bin as gpu_count, failure_count, runtime_hours, has_enough_data, confidence_level, note,
        mttf_hours as measured_hours, mttf_hours_low as measured_hours_low, mttf_hours_high as measured_hours_high,
        mttf_theory_hours as theory_hours, mttf_theory_hours_low as theory_hours_low,
        mttf_theory_hours_high as theory_hours_high
    from estimates.est_mttf_by_size
    where gpu_size_bin > 0
),

projected as (
    select
        cluster_id, gpu_count, is_largest_job, is_cluster_size, has_enough_data, confidence_level, note,
        mttf_hours as projected_hours, mttf_hours_low as projected_hours_low, mttf_hours_high as projected_hours_high
    from estimates.est_mttf_projections
)

select
    cluster_id,
    gpu_count,
    measured.failure_count,
    measured.runtime_hours,
    measured.measured_hours,
    measured.measured_hours_low,
    measured.measured_hours_high,
    measured.theory_hours,
    measured.note,
    projected.note as projection_note,
    coalesce(projected.projected_hours, measured.theory_hours) as projected_hours,
    coalesce(projected.projected_hours_low, measured.theory_hours_low) as projected_hours_low,
    coalesce(projected.projected_hours_high, measured.theory_hours_high) as projected_hours_high,
    coalesce(projected.is_largest_job, false) as is_largest_job,
    coalesce(projected.is_cluster_size, false) as is_cluster_size,
    coalesce(gpu_count > max(gpu_count) filter (where projected.is_largest_job) over own, false) as is_extrapolated,
    coalesce(measured.has_enough_data, projected.has_enough_data) as has_enough_data,
    coalesce(measured.confidence_level, projected.confidence_level) as confidence_level,
    measured.runtime_hours is not null as is_measured,
    measured.failure_count > 0 and measured.has_enough_data
    and measured.theory_hours not between measured.measured_hours_low and measured.measured_hours_high as is_off_line,
    coalesce(gpu_count = 1024 or projected.is_largest_job or projected.is_cluster_size, false) as is_asked,
    -- From one node up to the largest size that anybody ran, has room for, or asks about.
    gpu_count between coalesce(min(gpu_count) filter (where projected.cluster_id is not null) over own, 0)
    and greatest(1024, max(gpu_count) filter (where measured.cluster_id is not null or is_cluster_size) over own)
        as is_main
from measured
full join projected using (cluster_id, gpu_count)
window own as (partition by cluster_id)
order by gpu_count
