-- What is expected of each cluster: its failure rate, and what its last 30 days cost. One row per cluster.
select
    rates.cluster_id,
    rates.has_enough_data,
    rates.note,
    if(rates.has_enough_data, rates.failures_per_1000_node_days, null) as failures_per_1000_node_days,
    if(rates.has_enough_data, rates.failures_per_1000_node_days_low, null) as failures_per_1000_node_days_low,
    if(rates.has_enough_data, rates.failures_per_1000_node_days_high, null) as failures_per_1000_node_days_high,
    if(losses.has_enough_data, losses.expected_lost_gpu_hours, null) as expected_lost_gpu_hours,
    if(losses.has_enough_data, losses.expected_lost_gpu_hours_low, null) as expected_lost_gpu_hours_low,
    if(losses.has_enough_data, losses.expected_lost_gpu_hours_high, null) as expected_lost_gpu_hours_high,
    losses.exposure as seen_days
from estimates.est_failure_rates as rates
left join estimates.est_lost_gpu_hours as losses
    on rates.cluster_id = losses.cluster_id and losses.period = 'last_30_days' and losses.loss = 'all'
where rates.is_reference
