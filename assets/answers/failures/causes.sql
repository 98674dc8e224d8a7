-- Failures and failure rate by cause. A cause was seen, was never seen although a log could have shown it, or could not
-- be seen in any log. One row per cluster and cause.
select
    rates.*,
    1e6 * rates.failures_per_gpu_hour as per_million,
    1e6 * rates.failures_per_gpu_hour_low as per_million_low,
    1e6 * rates.failures_per_gpu_hour_high as per_million_high,
    lost.expected_lost_gpu_hours,
    case
        when rates.failure_count > 0 then 'seen' when rates.failure_count = 0 then 'never seen' else 'not observable'
    end as sight
from estimates.est_cause_rates as rates
left join marts.agg_failure_rates_by_cause as lost using (cluster_id, failure_category)
where
    rates.counted_as = 'attempts'
    and (rates.failure_count > 0 or rates.failures_per_gpu_hour_high is not null or rates.failure_count is null)
order by rates.failure_count desc nulls last, rates.failure_category
