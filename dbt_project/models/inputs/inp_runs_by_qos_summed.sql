select
    cluster_id,
    coalesce(qos, 'unknown') as qos,
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
    case
        when count(*) = 1 then 'a single run: no limits'
        when count(*) < 10 then format('{} runs: the lowest and the highest in place of limits', count(*))
        when stddev_samp(ettr order by run_id) = 0 then 'the runs do not differ: no limits'
        when stddev_samp(progress_ratio order by run_id) = 0
            then 'the runs progress alike: no limits of the progress ratio'
    end as note
from {{ ref('fct_job_runs') }}
inner join {{ ref('dim_clusters') }} using (cluster_id)
where scheduled_hours >= 24
group by all
