-- What was seen around each failure, the likeliest first, four events at most. One row per failure and event.
select
    cluster_id, evidence.attempt_id, evidence.lag_seconds, evidence.failure_category, evidence.probability,
    events.observed_at, events.source, events.check_name, events.source_path, events.source_line_number,
    left(events.message, 200) as message,
    coalesce(nodes.node_name, evidence.node_id) as node_name
from marts.fct_failure_evidence as evidence
left join marts.fct_health_events as events using (cluster_id, event_id)
left join marts.dim_nodes as nodes on cluster_id = nodes.cluster_id and evidence.node_id = nodes.node_id
qualify row_number() over (partition by cluster_id, evidence.attempt_id order by evidence.evidence_rank) <= 4
order by cluster_id, evidence.attempt_id, evidence.evidence_rank
