with clusters as (
    select cluster_id from {{ ref('dim_clusters') }}
),

runs as (
    select * replace (nullif(node_count, 0) as node_count, coalesce(qos, 'unknown') as qos)
    from {{ ref('fct_job_runs') }}
    where scheduled_hours >= 24
),

settings as (
    select
        cluster_id,
        checkpoint_minutes,
        restart_minutes,
        write_minutes
    from {{ ref('stg_config__clusters') }}
),

sums as (
    select
        cluster_id,
        grouping(qos) = 0 as is_by_qos,
        qos,
        gpu_size_bin,
        count(*) as run_count,
        count(ettr) as ettr_count,
        avg(ettr order by run_id) as ettr_mean,
        stddev_samp(ettr order by run_id) as ettr_deviation,
        min(ettr) as ettr_lowest,
        max(ettr) as ettr_highest,
        avg(ettr_low order by run_id) as ettr_bound_low,
        avg(ettr_high order by run_id) as ettr_bound_high,
        count(progress_ratio) as progress_count,
        avg(progress_ratio order by run_id) as progress_mean,
        stddev_samp(progress_ratio order by run_id) as progress_deviation,
        min(progress_ratio) as progress_lowest,
        max(progress_ratio) as progress_highest,
        avg(progress_ratio_low order by run_id) as progress_ratio_bound_low,
        avg(progress_ratio_high order by run_id) as progress_ratio_bound_high,
        if(count(ettr) = count(*), sum(wallclock_hours order by run_id), null) as wallclock_hours,
        if(count(ettr) = count(*), sum(queue_hours order by run_id), null) as queue_hours,
        sum(scheduled_hours - working_seconds / 3600 order by run_id) as restart_hours,
        sum(working_seconds / 3600 - productive_hours_high order by run_id) as write_hours,
        sum(productive_hours_high - productive_hours order by run_id) as lost_work_hours,
        sum(productive_hours order by run_id) as productive_hours,
        sum(scheduled_hours order by run_id) as scheduled_hours,
        sum(infrastructure_failure_count) as failure_count,
        median(node_count) as node_count_median,
        60 * sum(queue_hours order by run_id) / sum(attempt_count) filter (queue_hours is not null)
            as queue_minutes_mean,
        avg(productive_hours order by run_id) as productive_hours_mean,
        sum(attempt_count) - count(*) as restart_count
    from runs
    group by grouping sets ((cluster_id, gpu_size_bin), (cluster_id, qos, gpu_size_bin))
)

select
    sums.*,
    settings.checkpoint_minutes,
    settings.restart_minutes,
    settings.write_minutes
from sums
inner join clusters using (cluster_id)
left join settings using (cluster_id)
