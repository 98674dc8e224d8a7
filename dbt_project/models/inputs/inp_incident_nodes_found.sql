with failures as (
    select
        cluster_id,
        coalesce(incident_id, attempt_id) as incident_id,
        attempt_id,
        culprit_node_id,
        failed_at,
        failure_probability
    from {{ ref('inp_exposures_failed') }}
    where failure_probability > 0
),

incidents as (
    select
        cluster_id,
        incident_id,
        min(failed_at) as failed_at,
        max(failed_at) as last_failed_at
    from failures
    group by cluster_id, incident_id
),

taken_down as (
    select
        cluster_id,
        incident_id,
        attempt_id,
        culprit_node_id as node_id,
        failure_probability
    from failures
    where culprit_node_id is not null
    union all
    select
        failures.cluster_id,
        failures.incident_id,
        failures.attempt_id,
        outages.node_id,
        failures.failure_probability
    from failures
    inner join incidents using (cluster_id, incident_id)
    inner join {{ ref('fct_attempt_nodes') }} as attempt_nodes
        on failures.cluster_id = attempt_nodes.cluster_id and failures.attempt_id = attempt_nodes.attempt_id
    asof inner join (
        from {{ ref('fct_node_outages') }}
        where not is_planned
    ) as outages
        on
            attempt_nodes.cluster_id = outages.cluster_id
            and attempt_nodes.node_id = outages.node_id
            and incidents.failed_at - interval 10 minute <= outages.started_at
    where outages.started_at <= incidents.last_failed_at + interval 15 minute
)

select
    taken_down.cluster_id,
    taken_down.incident_id,
    taken_down.node_id,
    min(taken_down.attempt_id) as attempt_id,
    any_value(incidents.failed_at) as failed_at,
    max(taken_down.failure_probability) as failure_probability
from taken_down
inner join incidents using (cluster_id, incident_id)
group by taken_down.cluster_id, taken_down.incident_id, taken_down.node_id
