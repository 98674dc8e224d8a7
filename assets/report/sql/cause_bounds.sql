-- Causes that the cluster's evidence could have shown and never did. One row per cluster and cause.
select
    rates.cluster_id,
    rates.failure_category,
    coalesce(categories.label, rates.failure_category) as label,
    rates.failures_per_gpu_hour_high,
    rates.gpu_hours,
    rates.confidence_level
from estimates.est_cause_rates as rates
left join marts.dim_failure_categories as categories on rates.failure_category = categories.failure_category
where rates.counted_as = 'attempts' and rates.failure_count = 0 and rates.failures_per_gpu_hour_high is not null
order by rates.cluster_id, label
