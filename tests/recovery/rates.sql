-- Published r_f with its 90% interval beside what happened and what was planted, per 1,000 node-days. What happened and
-- what was planted is of the time in which the accounting is complete.
select
    rates.population,
    rates.failure_count,
    rates.node_days,
    rates.failures_per_1000_node_days as rate,
    rates.failures_per_1000_node_days_low as low,
    rates.failures_per_1000_node_days_high as high,
    truth.populations.failed_attempt_count as true_failure_count,
    truth.populations.visible_failed_attempt_count as visible_failure_count,
    truth.populations.node_days as true_node_days,
    1000 * truth.populations.failed_attempt_count / truth.populations.node_days as true_rate,
    -- The generating rate is of gangs that hold whole nodes: of several jobs on a node, a fault may fail only one.
    -- Shared faults are planted one by one, so they are added as they fell.
    case
        when rates.population = 'gpus_gt_128'
            then
                1000 * (
                    truth.populations.expected_fault_count + truth.populations.shared_failed_attempt_count
                ) / truth.populations.node_days
    end as planted_rate
from found.failure_rates as rates
inner join truth.populations using (population)
where rates.counted_as = 'attempts' and truth.populations.node_days > 0
order by rates.population
