-- Incidents of the study period, how many nodes each of them took down, and when: the failures of the nodes themselves.
-- An incident of which no node is known took down one node that nobody knows.
with incidents as (
    select
        cluster_id,
        coalesce(incident_id, attempt_id) as incident_id,
        min(failed_at) as failed_at,
        count(*) as failure_count,
        max(failure_probability) as incident_probability
    from intermediate.failed_exposures
    where failure_probability > 0
    group by cluster_id, coalesce(incident_id, attempt_id)
),

node_counts as (
    select
        cluster_id,
        incident_id,
        cast(sum(cast(failure_probability as decimal(38, 15))) as double) as expected_count
    from intermediate.incident_nodes
    group by cluster_id, incident_id
)

select
    incidents.cluster_id,
    incidents.incident_id,
    incidents.failed_at,
    incidents.failure_count,
    incidents.incident_probability,
    coalesce(node_counts.expected_count, incidents.incident_probability) as expected_count,
    coalesce(touched.touched_node_count, 0) > 0 as has_nodes
from incidents
left join node_counts using (cluster_id, incident_id)
left join marts.fct_incidents as touched using (cluster_id, incident_id)
