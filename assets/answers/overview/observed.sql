-- Records, attempts and infrastructure failures of a cluster. One row per cluster.
select
    cluster_id,
    count(*) filter (where is_terminal) as attempt_count,
    count(*) filter (where not is_terminal) as unended_count,
    count(distinct job_id_raw) filter (where is_terminal) as job_count,
    sum(gpu_hours) filter (where is_terminal) as gpu_hours,
    any_value(states.expected_failure_count) as expected_failure_count,
    any_value(states.expected_failure_count) / nullif(count(*) filter (where is_terminal), 0) as expected_failure_ratio
from marts.fct_attempts
left join (
    select cluster_id, expected_failure_count
    from marts.agg_job_states
    where is_infrastructure and attempt_count > 0
) as states using (cluster_id)
group by cluster_id
