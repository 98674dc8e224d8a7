-- Incidents of the study period, how many nodes each of them struck, and when: the failures of the nodes themselves.
-- An incident strikes each of its culprits once; where none is known, one node that nobody knows.
with struck_nodes as (
    select
        cluster_id,
        coalesce(incident_id, attempt_id) as incident_id,
        culprit_node_id,
        min(failed_at) as failed_at,
        count(*) as failure_count,
        max(failure_probability) as node_probability
    from intermediate.failed_exposures
    where failure_probability > 0
    group by cluster_id, coalesce(incident_id, attempt_id), culprit_node_id
),

struck as (
    select
        cluster_id,
        incident_id,
        min(failed_at) as failed_at,
        sum(failure_count) as failure_count,
        max(node_probability) as incident_probability,
        cast(coalesce(
            sum(cast(node_probability as decimal(38, 15))) filter (where culprit_node_id is not null),
            max(node_probability)
        ) as double) as expected_count
    from struck_nodes
    group by cluster_id, incident_id
)

select
    struck.cluster_id,
    struck.incident_id,
    struck.failed_at,
    struck.failure_count,
    struck.incident_probability,
    struck.expected_count,
    coalesce(incidents.touched_node_count, 0) > 0 as has_nodes
from struck
left join marts.fct_incidents as incidents using (cluster_id, incident_id)
