-- ETTR of long runs by size: what the expected form needs beside what was measured.
-- Sums and means of floats are taken in the order of run_id: floats added in another order differ in the last digit,
-- and the same input shall give the same table.
with clusters as (
    select cluster_id from marts.dim_clusters
),

long_runs as (
    select *
    from marts.fct_job_runs
    where scheduled_hours >= 24
),

runs as (
    select
        cluster_id,
        run_id,
        gpu_size_bin,
        nullif(node_count, 0) as node_count,
        attempt_count,
        queue_hours,
        wallclock_hours,
        scheduled_hours,
        working_seconds,
        productive_hours,
        productive_hours_high,
        ettr,
        ettr_low,
        ettr_high,
        progress_ratio,
        progress_ratio_low,
        progress_ratio_high,
        infrastructure_failure_count
    from long_runs
    where ettr is not null
),

-- nobody knows how long they waited, and so not which share of their time was productive
left_out as (
    select
        cluster_id,
        gpu_size_bin,
        count(*) as run_count
    from long_runs
    where ettr is null
    group by cluster_id, gpu_size_bin
),

settings as (
    select
        cluster_id,
        checkpoint_minutes,
        restart_minutes,
        write_minutes
    from staging.stg_config__clusters
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
        cluster_id,
        gpu_size_bin,
        count(*) as run_count,
        avg(ettr order by run_id) as ettr_mean,
        stddev_samp(ettr order by run_id) as ettr_deviation,
        min(ettr) as ettr_lowest,
        max(ettr) as ettr_highest,
        avg(ettr_low order by run_id) as ettr_bound_low,
        avg(ettr_high order by run_id) as ettr_bound_high,
        avg(progress_ratio order by run_id) as progress_mean,
        stddev_samp(progress_ratio order by run_id) as progress_deviation,
        min(progress_ratio) as progress_lowest,
        max(progress_ratio) as progress_highest,
        avg(progress_ratio_low order by run_id) as progress_ratio_bound_low,
        avg(progress_ratio_high order by run_id) as progress_ratio_bound_high,
        sum(wallclock_hours order by run_id) as wallclock_hours,
        sum(queue_hours order by run_id) as queue_hours,
        sum(scheduled_hours - working_seconds / 3600 order by run_id) as restart_hours,
        sum(working_seconds / 3600 - productive_hours_high order by run_id) as write_hours,
        sum(productive_hours_high - productive_hours order by run_id) as lost_work_hours,
        sum(productive_hours order by run_id) as productive_hours,
        median(node_count) as node_count_median,
        60 * sum(queue_hours order by run_id) / sum(attempt_count) as queue_minutes_mean,
        avg(productive_hours order by run_id) as productive_hours_mean,
        sum(scheduled_hours order by run_id) as scheduled_hours,
        sum(infrastructure_failure_count) as failure_count,
        sum(attempt_count) - count(*) as restart_count
    from runs
    group by cluster_id, gpu_size_bin
)

select
    sizes.* exclude (restart_count),
    settings.checkpoint_minutes,
    settings.restart_minutes,
    settings.write_minutes,
    rates.population as rate_population,
    rates.failure_count as rate_failure_count,
    rates.failure_variance as rate_failure_variance,
    rates.node_days as rate_node_days,
    nullif(concat_ws(
        '; ',
        if(sizes.gpu_size_bin is null, 'runs whose GPU count is unknown', null),
        case
            when sizes.run_count = 1 then 'a single run: no limits'
            when sizes.run_count < 10
                then format('{} runs: the lowest and the highest in place of limits', sizes.run_count)
            when sizes.ettr_deviation = 0 then 'the runs do not differ: no limits'
            when sizes.progress_deviation = 0 then 'the runs progress alike: no limits of the progress ratio'
        end,
        if(left_out.run_count > 0, format('runs left out, time queued unknown: {}', left_out.run_count), null),
        case
            when sizes.node_count_median is null then 'nodes unknown: no expected ETTR'
            when sizes.productive_hours_mean = 0 then 'no productive time: no expected ETTR'
            when coalesce(rates.node_days, 0) = 0 then 'no failure rate: no expected ETTR'
            when rates.failure_count is null then 'no failure rate: ' || rates.note
            when rates.failure_count = 0 then 'no failure yet: expected ETTR known by its lower limit only'
        end,
        if(
            sizes.restart_count > 2 * sizes.failure_count,
            format(
                'expected knows infrastructure failures only: {:d} of {:d} restarts', sizes.failure_count,
                sizes.restart_count
            ),
            null
        )
    ), '') as note
from sizes
inner join clusters using (cluster_id)
left join settings using (cluster_id)
left join rates using (cluster_id)
left join left_out
    on
        sizes.cluster_id = left_out.cluster_id
        and sizes.gpu_size_bin is not distinct from left_out.gpu_size_bin
order by sizes.cluster_id, sizes.gpu_size_bin nulls last
