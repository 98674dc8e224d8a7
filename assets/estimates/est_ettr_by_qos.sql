-- ETTR of long runs by QOS and size, means and deviations in the order of run_id: floats added in another order differ
-- in the last digit, and the same input shall give the same table.
select
    cluster_id,
    coalesce(qos, 'unknown') as qos,
    gpu_size_bin,
    count(*) as run_count,
    avg(ettr order by run_id) as ettr_mean,
    stddev_samp(ettr order by run_id) as ettr_deviation,
    min(ettr) as ettr_lowest,
    max(ettr) as ettr_highest,
    avg(ettr_low order by run_id) as ettr_bound_low,
    avg(ettr_high order by run_id) as ettr_bound_high,
    sum(scheduled_hours order by run_id) as scheduled_hours,
    sum(infrastructure_failure_count) as failure_count,
    case
        when count(*) = 1 then 'a single run: no limits'
        when count(*) < 10 then format('{} runs: the lowest and the highest in place of limits', count(*))
        when stddev_samp(ettr order by run_id) = 0 then 'the runs do not differ: no limits'
    end as note
from marts.fct_job_runs
inner join marts.dim_clusters using (cluster_id)
where scheduled_hours >= 24 and ettr is not null
group by all
order by cluster_id, qos, gpu_size_bin nulls last
