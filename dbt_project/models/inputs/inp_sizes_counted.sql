with clusters as (
    select
        cluster_id,
        gpus_per_node
    from {{ ref('dim_clusters') }}
),

exposures as (
    select
        cluster_id,
        gpu_size_bin,
        cast(sum(attempt_count) as bigint) as attempt_count,
        coalesce(cast(sum(exposure_seconds) as double), 0) / 3600 as runtime_hours,
        -- A bin has all sizes up to its upper edge. The line uses the mean, weighted by time.
        cast(sum(node_days) as double) * 86400
        / nullif(cast(sum(exposure_seconds_with_nodes) as double), 0) as mean_node_count
    from {{ ref('inp_exposure_days_summed') }}
    group by cluster_id, gpu_size_bin
),

failed_attempts as (
    select
        cluster_id,
        attempt_id,
        gpu_size_bin,
        coalesce(incident_id, attempt_id) as incident_id,
        failure_probability
    from {{ ref('inp_exposures_failed') }}
    where failure_probability > 0 and exposure_seconds is not null
),

failures as (
    {{ incident_counts('failed_attempts', ['cluster_id', 'gpu_size_bin']) }}
),

parameter_variances as (
    {{ parameter_variances('failed_attempts', ['cluster_id', 'gpu_size_bin']) }}
),

-- A job in a crash loop is one cause of many failures of its size.
loops as (
    select
        cluster_id,
        gpu_size_bin,
        {{ exact_sum('failure_count - 1', 15) }} as repeat_count,
        list({ 'job_id': job_id, 'failure_count': failure_count } order by failure_count desc, job_id asc) as loops
    from (
        select
            failed.cluster_id,
            failed.gpu_size_bin,
            min_by(attempts.job_id, attempts.run_attempt_number) as job_id,
            {{ exact_sum('failed.failure_probability', 15) }} as failure_count
        from failed_attempts as failed
        inner join {{ ref('fct_attempts') }} as attempts using (cluster_id, attempt_id)
        semi join {{ ref('agg_crash_loops') }} using (cluster_id, run_id)
        group by failed.cluster_id, failed.gpu_size_bin, attempts.run_id
    ) as runs
    where failure_count > 1
    group by cluster_id, gpu_size_bin
),

unseen as (
    select
        cluster_id,
        gpu_size_bin,
        sum(attempt_count) as attempt_count
    from {{ ref('inp_unseen_ends_counted') }}
    group by cluster_id, gpu_size_bin
),

sizes as (
    select
        exposures.*,
        coalesce(unseen.attempt_count, 0) > 0 and coalesce(failures.failure_count, 0) = 0 as is_unseen,
        if(is_unseen, null, coalesce(failures.failure_count, 0)) as failure_count,
        coalesce(failures.failure_variance, 0) + coalesce(parameter_variances.variance, 0) as failure_variance,
        coalesce(loops.repeat_count, 0) as repeat_count,
        loops.loops
    from exposures
    left join failures
        on
            exposures.cluster_id = failures.cluster_id
            and exposures.gpu_size_bin is not distinct from failures.gpu_size_bin
    left join loops
        on
            exposures.cluster_id = loops.cluster_id
            and exposures.gpu_size_bin is not distinct from loops.gpu_size_bin
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
    coalesce(sizes.repeat_count, 0) as repeat_count,
    sizes.loops,
    coalesce(sizes.runtime_hours, 0) as runtime_hours,
    if(sizes.gpu_size_bin > 0 and clusters.gpus_per_node > 0, clusters.gpus_per_node, null) as gpus_per_node,
    if(sizes.gpu_size_bin > 0, sizes.mean_node_count, null) as mean_node_count,
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
        end
    ), '') as note
from clusters
left join sizes using (cluster_id)
