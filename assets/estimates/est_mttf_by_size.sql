-- Hours run and failures of each cluster and job size, and the reference rate for the theory line.
with clusters as (
    select
        cluster_id,
        gpus_per_node
    from marts.dim_clusters
),

attempts as (
    select
        cluster_id,
        gpu_size_bin,
        runtime_seconds,
        coalesce(is_infrastructure_failure, false) as is_failure
    from marts.fct_attempts
    where is_terminal
),

rates as (
    select
        cluster_id,
        population,
        failure_count,
        node_days
    from estimates.est_failure_rates
    where is_reference
),

sizes as (
    select
        cluster_id,
        gpu_size_bin,
        count(*) as attempt_count,
        count(*) filter (where is_failure and runtime_seconds is not null) as failure_count,
        coalesce(cast(sum(runtime_seconds) as double), 0) / 3600 as runtime_hours
    from attempts
    group by cluster_id, gpu_size_bin
)

select
    clusters.cluster_id,
    sizes.gpu_size_bin,
    coalesce(sizes.attempt_count, 0) as attempt_count,
    coalesce(sizes.failure_count, 0) as failure_count,
    coalesce(sizes.runtime_hours, 0) as runtime_hours,
    if(sizes.gpu_size_bin > 0 and clusters.gpus_per_node > 0, clusters.gpus_per_node, null) as gpus_per_node,
    rates.population as theory_population,
    rates.failure_count as rate_failure_count,
    rates.node_days as rate_node_days,
    nullif(concat_ws(
        '; ',
        case
            when sizes.attempt_count is null then 'no finished attempt'
            when sizes.gpu_size_bin is null then 'attempts whose GPU count is unknown'
        end,
        case
            when sizes.runtime_hours = 0 then 'the attempts ran for no time'
            when sizes.failure_count = 0
                then format('no failure in {:.4g} hours: only the lower limit is known', sizes.runtime_hours)
        end,
        case
            when coalesce(rates.failure_count, 0) = 0 or rates.node_days = 0 then 'no failure rate for the theory line'
            when sizes.gpu_size_bin > 0 and coalesce(clusters.gpus_per_node, 0) = 0
                then 'GPUs per node unknown: no theory line'
        end
    ), '') as note
from clusters
left join sizes using (cluster_id)
left join rates using (cluster_id)
order by clusters.cluster_id, sizes.gpu_size_bin nulls last
