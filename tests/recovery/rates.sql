-- Published r_f with its 90% interval beside what happened and what was planted, per 1,000 node-days.
with

populations as (

    select *, 'all' as population from truth.attempts
    union all
    select *, 'gpus_gt_128' from truth.attempts where gpu_count > 128

),

exposures as (

    select
        population,
        unnest(nodes) as node,
        exposed_seconds / 86400 as days
    from populations
    where started_epoch is not null

),

-- What each node was made to suffer, over the time that attempts held it.
expected as (

    select
        exposures.population,
        sum(exposures.days) as node_days,
        sum(exposures.days * truth.nodes.faults_per_1000_node_days / 1000) as failure_count
    from exposures
    inner join truth.nodes using (node)
    group by exposures.population

),

happened as (

    select
        populations.population,
        count(*) as failure_count,
        count(*) filter (truth.faults.is_shared) as shared_count
    from populations
    inner join truth.failures using (attempt_id)
    inner join truth.faults using (fault_number)
    group by populations.population

)

select
    rates.population,
    rates.failure_count,
    rates.node_days,
    rates.failures_per_1000_node_days as rate,
    rates.failures_per_1000_node_days_low as low,
    rates.failures_per_1000_node_days_high as high,
    coalesce(happened.failure_count, 0) as true_failure_count,
    expected.node_days as true_node_days,
    1000 * coalesce(happened.failure_count, 0) / expected.node_days as true_rate,
    -- The generating rate is of gangs that hold whole nodes: of several jobs on a node, a fault may fail only one.
    -- Shared faults are planted one by one, so they are added as they fell.
    case
        when rates.population = 'gpus_gt_128'
            then 1000 * (expected.failure_count + coalesce(happened.shared_count, 0)) / expected.node_days
    end as planted_rate
from found.failure_rates as rates
inner join expected using (population)
left join happened using (population)
where rates.counted_as = 'attempts'
order by rates.population
