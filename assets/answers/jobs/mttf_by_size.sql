-- MTTF by job size, measured and projected. One row per cluster and measured or projected size.
with measured as (
    select
        cluster_id, gpu_size_bin as gpu_count, failure_count, runtime_hours, note, true as is_measured,
        has_enough_data as has_enough_measured, confidence_level as measured_level,
        mttf_hours as measured_hours, mttf_hours_low as measured_hours_low, mttf_hours_high as measured_hours_high,
        mttf_theory_hours as theory_hours, mttf_theory_hours_low as theory_hours_low,
        mttf_theory_hours_high as theory_hours_high
    from estimates.est_mttf_by_size
    where gpu_size_bin > 0
),

projected as (
    select
        cluster_id, gpu_count, is_largest_job, is_cluster_size, has_enough_data, confidence_level,
        note as projection_note, true as is_projected,
        mttf_hours as projected_hours, mttf_hours_low as projected_hours_low, mttf_hours_high as projected_hours_high
    from estimates.est_mttf_projections
)

select
    * replace (
        coalesce(projected_hours, theory_hours) as projected_hours,
        coalesce(projected_hours_low, theory_hours_low) as projected_hours_low,
        coalesce(projected_hours_high, theory_hours_high) as projected_hours_high,
        coalesce(has_enough_data, has_enough_measured) as has_enough_data,
        coalesce(confidence_level, measured_level) as confidence_level
    ),
    gpu_count > max(gpu_count) filter (where is_largest_job) over own as is_extrapolated,
    failure_count > 0 and has_enough_measured
    and theory_hours not between measured_hours_low and measured_hours_high as is_off_line,
    gpu_count = 1024 or coalesce(is_largest_job or is_cluster_size, false) as is_asked,
    -- From one node up to the largest size that ran, that fits the cluster, or that users ask about.
    gpu_count >= coalesce(min(gpu_count) filter (where is_projected) over own, 0) and gpu_count
    <= greatest(1024, max(gpu_count) filter (where is_measured or is_cluster_size) over own) as is_main
from measured
full join projected using (cluster_id, gpu_count)
window own as (partition by cluster_id)
order by gpu_count
