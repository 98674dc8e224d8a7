with incidents as (
    select
        cluster_id,
        coalesce(incident_id, attempt_id) as incident_id,
        min(failed_at) as failed_at,
        count(*) as failure_count,
        max(failure_probability) as incident_probability
    from {{ ref('inp_exposures_failed') }}
    where failure_probability > 0
    group by cluster_id, coalesce(incident_id, attempt_id)
),

node_counts as (
    select
        cluster_id,
        incident_id,
        {{ exact_sum('failure_probability', 15) }} as expected_count
    from {{ ref('inp_incident_nodes_found') }}
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
left join {{ ref('fct_incidents') }} as touched using (cluster_id, incident_id)
