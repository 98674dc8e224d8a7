-- The latest 50 infrastructure-failed attempts of each cluster. One row per attempt.
select
    failures.cluster_id,
    failures.attempt_id,
    failures.failed_at,
    failures.failure_category,
    failures.attribution_rule,
    failures.evidence_count,
    failures.lost_gpu_hours,
    attempts.job_id,
    attempts.job_name,
    attempts.user_name,
    attempts.gpu_count,
    attempts.node_count,
    attempts.state,
    coalesce(nodes.node_name, failures.culprit_node_id) as culprit_node_name,
    coalesce(categories.label, failures.failure_category) as label
from marts.fct_failures as failures
left join marts.fct_attempts as attempts using (cluster_id, attempt_id)
left join marts.dim_nodes as nodes
    on failures.cluster_id = nodes.cluster_id and failures.culprit_node_id = nodes.node_id
left join marts.dim_failure_categories as categories
    on failures.failure_category = categories.failure_category
qualify row_number() over (
    partition by failures.cluster_id order by failures.failed_at desc, failures.attempt_id
) <= 50
order by failures.cluster_id, failures.failed_at desc, failures.attempt_id
