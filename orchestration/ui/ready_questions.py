"""Questions to start from on the page of `faultline serve`: a name and its SQL over the published tables."""

from __future__ import annotations

READY_QUESTIONS = {
    "The last failures, with their first evidence": """
select
    failures.cluster_id, failures.failed_at, failures.failure_category, failures.culprit_node_id as node,
    attempts.job_id, attempts.gpu_count, events.source, events.message
from marts.fct_failures as failures
inner join marts.fct_attempts as attempts using (cluster_id, attempt_id)
left join marts.fct_health_events as events
    on failures.cluster_id = events.cluster_id and failures.primary_event_id = events.event_id
order by failures.failed_at desc
limit 100""",
    "Nodes by incidents": """
select
    suspects.cluster_id, suspects.node_id, count(*) as incidents, max(suspects.failed_at) as last_at,
    round(sum(suspects.lost_gpu_hours), 1) as lost_gpu_hours
from marts.fct_incident_suspects as suspects
where suspects.is_known
group by all
order by incidents desc""",
    "What it cost each account": """
select cluster_id, account, sum(failure_count) as failures, round(sum(lost_gpu_hours), 1) as lost_gpu_hours,
    round(sum(lost_cost)) as lost_cost, any_value(currency) as currency
from marts.agg_lost_hours_by_account
group by all
order by lost_gpu_hours desc""",
    "How long jobs of each size last": """
select cluster_id, gpu_size_bin as gpus, mttf_hours, mttf_hours_low, mttf_hours_high, failure_count, runtime_hours
from estimates.est_mttf_by_size
order by cluster_id, gpus""",
    "Outages that are still open": """
select cluster_id, node_id, started_at, state, reason
from marts.fct_node_outages
where is_open
order by started_at""",
    "Tables and their columns": """
select schema_name, table_name, column_name, data_type, comment
from duckdb_columns()
where schema_name in ('marts', 'estimates', 'ops')
order by all""",
}
