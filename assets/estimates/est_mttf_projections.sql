-- The job sizes to project onto, with the reference rate of each cluster and its months: powers of two from 8 to 131,072
-- GPUs, the largest job that ran, and the whole cluster.
with clusters as (
    select
        cluster_id,
        gpu_count,
        gpu_node_count,
        gpus_per_node
    from marts.dim_clusters
),

largest_jobs as (
    select
        cluster_id,
        max(job_gpu_count) as gpu_count
    from marts.fct_attempts
    where started_at is not null
    group by cluster_id
),

rates as (
    select
        cluster_id,
        population,
        failure_count,
        failure_variance,
        node_days,
        note
    from estimates.est_failure_rates
    where is_reference
),

sizes as (
    select
        clusters.cluster_id,
        cast(power(2, exponents.exponent) as bigint) as gpu_count
    from clusters
    cross join range(3, 18) as exponents (exponent)
    union
    select
        cluster_id,
        cast(gpu_count as bigint) as gpu_count
    from clusters
    where gpu_count > 0
    union
    select
        clusters.cluster_id,
        cast(largest_jobs.gpu_count as bigint) as gpu_count
    from clusters
    inner join largest_jobs using (cluster_id)
    where largest_jobs.gpu_count > 0
)

select
    sizes.cluster_id,
    sizes.gpu_count,
    coalesce(sizes.gpu_count = clusters.gpu_count, false) as is_cluster_size,
    coalesce(sizes.gpu_count = largest_jobs.gpu_count, false) as is_largest_job,
    if(clusters.gpus_per_node > 0, clusters.gpus_per_node, null) as gpus_per_node,
    clusters.gpu_count as fleet_gpu_count,
    clusters.gpu_node_count as fleet_node_count,
    rates.population,
    rates.failure_count,
    rates.failure_variance,
    rates.node_days,
    coalesce(months.month_failure_counts, []) as month_failure_counts,
    coalesce(months.month_node_days, []) as month_node_days,
    nullif(concat_ws(
        '; ',
        if(coalesce(clusters.gpus_per_node, 0) = 0, 'GPUs per node unknown', null),
        case
            when coalesce(rates.node_days, 0) = 0 then 'no failure rate: the cluster has no node-days'
            when rates.failure_count is null then 'no failure rate: ' || rates.note
            when rates.failure_count = 0
                then format('no failure in {:.4g} node-days: only the lower limit is known', rates.node_days)
        end,
        if(rates.node_days > 0 and evidence.is_doubtful, evidence.statement, null)
    ), '') as note
from sizes
inner join clusters using (cluster_id)
left join largest_jobs using (cluster_id)
left join rates using (cluster_id)
left join estimates.est_evidence_reach as evidence
    on sizes.cluster_id = evidence.cluster_id and evidence.month_date is null
left join reference_months as months using (cluster_id)
order by sizes.cluster_id, sizes.gpu_count
