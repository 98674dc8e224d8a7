-- Failures of each cause with the GPU-hours they could have happened in, and every cause that the cluster's evidence
-- could have shown, seen or not.
with clusters as (
    select
        cluster_id,
        has_accounting,
        has_kernel_messages,
        has_node_events or has_slurmctld_log as has_reasons
    from marts.dim_clusters
),

categories as (
    select failure_category
    from marts.dim_failure_categories
    where is_infrastructure and is_cause
),

exposures as (
    select
        cluster_id,
        cast(sum(gpu_hours) as double) as gpu_hours,
        sum(without_gpu_hours_count) as unknown_count
    from intermediate.exposure_days
    group by cluster_id
),

-- A failure without GPU-hours would raise the rate of the others; where no attempt has any, there is no rate to raise.
failures as (
    select
        attempts.cluster_id,
        attempts.attempt_id,
        attempts.failure_category,
        coalesce(attempts.incident_id, attempts.attempt_id) as incident_id,
        attempts.failure_probability as probability,
        attempts.gpu_hours is not null or exposures.gpu_hours is null as is_counted
    from intermediate.failed_exposures as attempts
    inner join exposures using (cluster_id)
    where attempts.failure_probability > 0
),

-- what an incident took of one cause: w is the probability that it is real, m the attempts it then holds
incidents as (
    select
        cluster_id,
        failure_category,
        incident_id,
        max(probability) as real_probability,
        sum(probability order by attempt_id) / max(probability) as attempt_count
    from failures
    where is_counted
    group by cluster_id, failure_category, incident_id
),

-- how far the count moves under other parameters of the posterior that the data allow
draw_counts as (
    select
        failures.cluster_id,
        failures.failure_category,
        draws.draw,
        sum(draws.probability order by failures.attempt_id) as expected_count
    from failures
    inner join intermediate.int_failure_draws as draws using (cluster_id, attempt_id)
    where failures.is_counted
    group by failures.cluster_id, failures.failure_category, draws.draw
),

parameter_variances as (
    select
        cluster_id,
        failure_category,
        greatest(
            sum(expected_count * expected_count order by draw) / count(*)
            - power(sum(expected_count order by draw) / count(*), 2),
            0
        ) as variance
    from draw_counts
    group by cluster_id, failure_category
),

counts as (
    select
        cluster_id,
        failure_category,
        sum(real_probability * attempt_count order by incident_id) as failure_count,
        sum(real_probability * attempt_count * attempt_count * (2 - real_probability) order by incident_id)
            as failure_variance,
        sum(real_probability order by incident_id) as incident_count
    from incidents
    group by cluster_id, failure_category
),

-- Accounting alone shows that a node was lost; a check shows its own cause; kernel messages and the reasons that
-- administrators and Slurm write show those that their rules name.
kernel_causes as (
    select failure_category from seeds.kernel_rules
    union
    select failure_category from seeds.xids
),

reason_causes as (
    select failure_category from seeds.node_reason_rules
),

showable as (
    select
        clusters.cluster_id,
        categories.failure_category
    from clusters
    cross join categories
    where
        clusters.has_accounting
        and (
            categories.failure_category = 'node_fail_unattributed'
            or clusters.has_kernel_messages
            and categories.failure_category in (select kernel_causes.failure_category from kernel_causes)
            or clusters.has_reasons
            and categories.failure_category in (select reason_causes.failure_category from reason_causes)
        )
    union
    select
        introductions.cluster_id,
        introductions.failure_category
    from marts.agg_check_introductions as introductions
    inner join categories using (failure_category)
    inner join clusters using (cluster_id)
    where clusters.has_accounting
    union
    select distinct
        failures.cluster_id,
        failures.failure_category
    from failures
    inner join clusters using (cluster_id)
),

-- By the paper's rule each attributed failure is certain, and all ended attempts count, as in
-- marts.agg_failure_rates_by_cause.
paper_counts as (
    select
        cluster_id,
        failure_category,
        count(*) as failure_count,
        count(distinct coalesce(incident_id, attempt_id)) as incident_count
    from marts.fct_failures
    inner join clusters using (cluster_id)
    group by cluster_id, failure_category
),

paper_exposures as (
    select
        cluster_id,
        sum(gpu_count * runtime_seconds) / 3600 as gpu_hours,
        count(*) filter (where gpu_count * runtime_seconds is null) as unknown_count
    from marts.fct_attempts
    where is_terminal
    group by cluster_id
),

counted as (
    select
        showable.cluster_id,
        showable.failure_category,
        'attempts' as counted_as,
        counts.failure_count,
        coalesce(counts.failure_variance, 0) + coalesce(parameter_variances.variance, 0) as failure_variance,
        counts.incident_count,
        exposures.gpu_hours,
        exposures.unknown_count
    from showable
    left join counts using (cluster_id, failure_category)
    left join parameter_variances using (cluster_id, failure_category)
    left join exposures using (cluster_id)
    union all by name
    select
        causes.cluster_id,
        causes.failure_category,
        'attempts_paper' as counted_as,
        paper_counts.failure_count,
        coalesce(paper_counts.failure_count, 0) as failure_variance,
        paper_counts.incident_count,
        paper_exposures.gpu_hours,
        paper_exposures.unknown_count
    from (
        select cluster_id, failure_category from showable
        union
        select cluster_id, failure_category from paper_counts semi join clusters using (cluster_id)
    ) as causes
    left join paper_counts using (cluster_id, failure_category)
    left join paper_exposures using (cluster_id)
)

select
    cluster_id,
    failure_category,
    counted_as,
    coalesce(failure_count, 0) as failure_count,
    failure_variance,
    coalesce(incident_count, 0) as incident_count,
    if(unknown_count > 0, gpu_hours, coalesce(gpu_hours, 0)) as gpu_hours,
    nullif(concat_ws(
        '; ',
        case
            when coalesce(gpu_hours, 0) = 0 then 'no GPU-hours are known'
            when failure_count is null then 'never seen: only the upper limit is known'
        end,
        if(unknown_count > 0 and gpu_hours > 0, format('attempts left out, GPU-hours unknown: {}', unknown_count), null)
    ), '') as note
from counted
order by cluster_id, failure_category, counted_as
