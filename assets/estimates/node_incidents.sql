-- Incidents of the study period, how many nodes each of them took down, and when: the failures of the nodes themselves.
-- An incident takes down each of its culprits, and each node of its attempts that went out of service, unplanned, from
-- 10 minutes before it to 15 minutes after it. Where none of these is known it took down one node that nobody knows.
with failures as (
    select
        cluster_id,
        coalesce(incident_id, attempt_id) as incident_id,
        attempt_id,
        culprit_node_id,
        failed_at,
        failure_probability
    from intermediate.failed_exposures
    where failure_probability > 0
),

incidents as (
    select
        cluster_id,
        incident_id,
        min(failed_at) as failed_at,
        max(failed_at) as last_failed_at,
        count(*) as failure_count,
        max(failure_probability) as incident_probability
    from failures
    group by cluster_id, incident_id
),

taken_down as (
    select
        cluster_id,
        incident_id,
        culprit_node_id as node_id,
        failure_probability
    from failures
    where culprit_node_id is not null
    union all
    select
        failures.cluster_id,
        failures.incident_id,
        outages.node_id,
        failures.failure_probability
    from failures
    inner join incidents using (cluster_id, incident_id)
    inner join marts.fct_attempt_nodes as attempt_nodes
        on failures.cluster_id = attempt_nodes.cluster_id and failures.attempt_id = attempt_nodes.attempt_id
    inner join marts.fct_node_outages as outages
        on
            attempt_nodes.cluster_id = outages.cluster_id
            and attempt_nodes.node_id = outages.node_id
            and outages.started_at >= incidents.failed_at - interval 10 minute
            and outages.started_at <= incidents.last_failed_at + interval 15 minute
    where not outages.is_planned
),

node_counts as (
    select
        cluster_id,
        incident_id,
        cast(sum(cast(node_probability as decimal(38, 15))) as double) as expected_count
    from (
        select
            cluster_id,
            incident_id,
            node_id,
            max(failure_probability) as node_probability
        from taken_down
        group by cluster_id, incident_id, node_id
    )
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
