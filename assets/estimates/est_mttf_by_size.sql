-- Hours run and failures of each cluster and job size, and the reference rate for the theory line.
with clusters as (
    select
        cluster_id,
        gpus_per_node
    from marts.dim_clusters
),

rates as (
    select
        cluster_id,
        population,
        failure_count,
        failure_variance,
        node_days
    from estimates.est_failure_rates
    where is_reference
),

exposures as (
    select
        cluster_id,
        gpu_size_bin,
        cast(sum(attempt_count) as bigint) as attempt_count,
        coalesce(cast(sum(exposure_seconds) as double), 0) / 3600 as runtime_hours,
        -- A bin holds all sizes up to its upper edge: the line is drawn at the mean, weighted by time.
        cast(sum(node_days) as double) * 86400
        / nullif(cast(sum(exposure_seconds_with_nodes) as double), 0) as mean_node_count
    from intermediate.exposure_days
    group by cluster_id, gpu_size_bin
),

failed_attempts as (
    select
        cluster_id,
        attempt_id,
        gpu_size_bin,
        coalesce(incident_id, attempt_id) as incident_id,
        failure_probability
    from intermediate.failed_exposures
    where failure_probability > 0 and exposure_seconds is not null
),

incidents as (
    select
        cluster_id,
        gpu_size_bin,
        incident_id,
        max(failure_probability) as incident_probability,
        cast(sum(cast(failure_probability as decimal(38, 15))) as double) as expected_count
    from failed_attempts
    group by cluster_id, gpu_size_bin, incident_id
),

draw_counts as (
    select
        failed_attempts.cluster_id,
        failed_attempts.gpu_size_bin,
        draws.draw,
        cast(sum(cast(draws.probability as decimal(38, 15))) as double) as expected_count
    from failed_attempts
    inner join intermediate.int_failure_draws as draws using (cluster_id, attempt_id)
    group by failed_attempts.cluster_id, failed_attempts.gpu_size_bin, draws.draw
),

parameter_variances as (
    select
        cluster_id,
        gpu_size_bin,
        greatest(
            sum(expected_count * expected_count order by draw) / count(*)
            - power(sum(expected_count order by draw) / count(*), 2),
            0
        ) as variance
    from draw_counts
    group by cluster_id, gpu_size_bin
),

-- Variance as in est_failure_rates.
failures as (
    select
        cluster_id,
        gpu_size_bin,
        cast(sum(cast(expected_count as decimal(38, 15))) as double) as failure_count,
        cast(sum(cast(
            expected_count * expected_count / incident_probability * (2 - incident_probability) as decimal(38, 15)
        )) as double) as failure_variance
    from incidents
    group by cluster_id, gpu_size_bin
),

unseen as (
    select
        cluster_id,
        gpu_size_bin,
        sum(attempt_count) as attempt_count
    from intermediate.unseen_ends
    group by cluster_id, gpu_size_bin
),

sizes as (
    select
        exposures.*,
        coalesce(unseen.attempt_count, 0) > 0 and coalesce(failures.failure_count, 0) = 0 as is_unseen,
        if(is_unseen, null, coalesce(failures.failure_count, 0)) as failure_count,
        coalesce(failures.failure_variance, 0) + coalesce(parameter_variances.variance, 0) as failure_variance
    from exposures
    left join failures
        on
            exposures.cluster_id = failures.cluster_id
            and exposures.gpu_size_bin is not distinct from failures.gpu_size_bin
    left join unseen
        on
            exposures.cluster_id = unseen.cluster_id
            and exposures.gpu_size_bin is not distinct from unseen.gpu_size_bin
    left join parameter_variances
        on
            exposures.cluster_id = parameter_variances.cluster_id
            and exposures.gpu_size_bin is not distinct from parameter_variances.gpu_size_bin
)

select
    clusters.cluster_id,
    sizes.gpu_size_bin,
    coalesce(sizes.attempt_count, 0) as attempt_count,
    if(sizes.is_unseen, null, coalesce(sizes.failure_count, 0)) as failure_count,
    coalesce(sizes.failure_variance, 0) as failure_variance,
    coalesce(sizes.runtime_hours, 0) as runtime_hours,
    if(sizes.gpu_size_bin > 0 and clusters.gpus_per_node > 0, clusters.gpus_per_node, null) as gpus_per_node,
    if(sizes.gpu_size_bin > 0, sizes.mean_node_count, null) as mean_node_count,
    rates.population as theory_population,
    rates.failure_count as rate_failure_count,
    rates.failure_variance as rate_failure_variance,
    rates.node_days as rate_node_days,
    nullif(concat_ws(
        '; ',
        case
            when sizes.attempt_count is null then 'no attempt ran'
            when sizes.gpu_size_bin is null then 'attempts whose GPU count is unknown'
        end,
        case
            when sizes.runtime_hours = 0 then 'the attempts ran for no time'
            when sizes.is_unseen
                then 'not observable: no failure was seen, and attempts ended FAILED where no log was understood'
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
