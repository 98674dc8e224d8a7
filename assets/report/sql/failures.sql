-- Every infrastructure-failed attempt, the latest first. One row per attempt.
select
    failures.* exclude (state, gpu_count, node_count),
    attempts.job_id, attempts.attempt_number, attempts.run_id, attempts.job_name, attempts.user_name, attempts.account,
    attempts.gpu_count, attempts.gpu_size_bin, attempts.node_count, attempts.state, attempts.source_path,
    attempts.source_line_number,
    coalesce(nodes.node_name, failures.culprit_node_id) as culprit_node_name,
    count(*) over (partition by failures.cluster_id, failures.incident_id) - 1 as incident_other_count
from marts.fct_failures as failures
left join (from marts.fct_attempts where is_infrastructure_failure) as attempts using (cluster_id, attempt_id)
left join marts.dim_nodes as nodes
    on failures.cluster_id = nodes.cluster_id and failures.culprit_node_id = nodes.node_id
order by failures.cluster_id, failures.failed_at desc, failures.attempt_id
