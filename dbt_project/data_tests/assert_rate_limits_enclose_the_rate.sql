select
    cluster_id,
    failure_category,
    failure_count,
    failures_per_gpu_hour_low,
    failures_per_gpu_hour,
    failures_per_gpu_hour_high
from {{ ref('agg_failure_rates_by_cause') }}
where
    gpu_hours is not null
    and not coalesce(
        failures_per_gpu_hour_low >= 0
        and failures_per_gpu_hour_low < failures_per_gpu_hour
        and failures_per_gpu_hour < failures_per_gpu_hour_high
        and expected_failure_count between 0 and failure_count,
        false
    )
