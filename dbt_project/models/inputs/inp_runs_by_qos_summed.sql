select
    cluster_id,
    coalesce(qos, 'unknown') as qos,
    gpu_size_bin,
    {{ measured_runs() }},
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
