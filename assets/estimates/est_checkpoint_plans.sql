-- Sizes to plan for, powers of two from 8 to 131,072 GPUs, with each cluster's reference rate, its months and its costs.
-- A write time of 0 is the default of a site that never said: five minutes are assumed, as in the paper's second
-- version, because writes that cost nothing would be done all the time.
with clusters as (
    select
        cluster_id,
        gpu_count as fleet_gpu_count,
        gpu_node_count as fleet_node_count,
        if(gpus_per_node > 0, gpus_per_node, null) as gpus_per_node
    from marts.dim_clusters
),

settings as (
    select
        cluster_id,
        restart_minutes,
        write_minutes
    from staging.stg_config__clusters
),

rates as (
    select
        cluster_id,
        population,
        counted_as,
        failure_count,
        failure_variance,
        node_days,
        note
    from estimates.est_failure_rates
    where is_reference
),

sizes as (
    select cast(power(2, exponents.exponent) as bigint) as gpu_count
    from range(3, 18) as exponents (exponent)
)

select
    clusters.cluster_id,
    sizes.gpu_count,
    clusters.gpus_per_node,
    clusters.fleet_gpu_count,
    clusters.fleet_node_count,
    rates.population,
    rates.counted_as,
    rates.failure_count,
    rates.failure_variance,
    rates.node_days,
    coalesce(months.month_failure_counts, []) as month_failure_counts,
    coalesce(months.month_node_days, []) as month_node_days,
    coalesce(settings.restart_minutes, 5) as restart_minutes,
    if(settings.write_minutes > 0, settings.write_minutes, 5) as write_minutes,
    nullif(concat_ws(
        '; ',
        if(clusters.gpus_per_node is null, 'GPUs per node unknown', null),
        case
            when coalesce(rates.node_days, 0) = 0 then 'no failure rate: the cluster has no node-days'
            when rates.failure_count is null then 'no failure rate: ' || rates.note
            when rates.failure_count = 0
                then format('no failure in {:.4g} node-days: only bounds are known', rates.node_days)
        end,
        if(coalesce(settings.write_minutes, 0) = 0, 'write time not configured: 5 minutes assumed', null)
    ), '') as note
from clusters
cross join sizes
left join rates using (cluster_id)
left join reference_months as months using (cluster_id)
left join settings using (cluster_id)
order by clusters.cluster_id, sizes.gpu_count
