-- Failure rates by cause, with the name to show. One row per cluster and cause.
select
    rates.cluster_id,
    rates.failure_category,
    coalesce(categories.label, rates.failure_category) as label,
    rates.failure_count,
    rates.gpu_hours,
    rates.failures_per_gpu_hour,
    rates.failures_per_gpu_hour_low,
    rates.failures_per_gpu_hour_high,
    rates.confidence_level
from marts.agg_failure_rates_by_cause as rates
left join marts.dim_failure_categories as categories on rates.failure_category = categories.failure_category
order by rates.cluster_id, rates.failure_count desc, rates.failure_category
