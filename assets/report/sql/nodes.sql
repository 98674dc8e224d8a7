-- Nodes with incidents or outages, those with the most incidents first. One row per node.
-- Incidents, not attempts: one fault that fails four jobs is one. What is more likely a coincidence is left out.
with incidents as (
    select
        failures.cluster_id,
        failures.culprit_node_id as node_id,
        failures.incident_id,
        arg_max(failures.failure_category, failures.posterior_probability) as failure_category,
        min(failures.failed_at) as failed_at,
        count(*) as attempt_count,
        sum(failures.lost_gpu_hours) as lost_gpu_hours
    from marts.fct_failures as failures
    where
        failures.culprit_node_id is not null
        and failures.posterior_probability >= 0.5
    group by failures.cluster_id, failures.culprit_node_id, failures.incident_id
),

outages_of_nodes as (
    select
        outages.cluster_id,
        outages.node_id,
        outages.is_planned,
        outages.reason,
        outages.started_at,
        outages.ended_at,
        outages.ended_at is null as is_open,
        epoch(coalesce(outages.ended_at, greatest(clusters.last_at, outages.started_at))) - epoch(outages.started_at)
            as seconds
    from marts.fct_node_outages as outages
    inner join marts.dim_clusters as clusters using (cluster_id)
),

-- A fault came back where the node was out of service between two incidents of one cause.
followed as (
    select
        *,
        lag(failed_at) over (
            partition by cluster_id, node_id, failure_category order by failed_at, incident_id
        ) as previous_failed_at
    from incidents
),

relapses as (
    select
        followed.cluster_id,
        followed.node_id,
        arg_max(followed.failure_category, followed.failed_at) as relapsed_category,
        max(followed.failed_at) as relapsed_at,
        arg_max(outages_of_nodes.ended_at, followed.failed_at) as returned_at
    from followed
    inner join outages_of_nodes
        on
            followed.cluster_id = outages_of_nodes.cluster_id
            and followed.node_id = outages_of_nodes.node_id
            and not outages_of_nodes.is_planned
            and outages_of_nodes.started_at >= followed.previous_failed_at - interval 15 minute
            and outages_of_nodes.ended_at < followed.failed_at
    group by followed.cluster_id, followed.node_id
),

causes as (
    select
        cluster_id,
        node_id,
        list({'category': failure_category, 'label': label, 'count': cause_count}
            order by cause_count desc, failure_category) as causes
    from (
        select
            incidents.cluster_id,
            incidents.node_id,
            incidents.failure_category,
            coalesce(any_value(categories.label), incidents.failure_category) as label,
            count(*) as cause_count
        from incidents
        left join marts.dim_failure_categories as categories using (failure_category)
        group by incidents.cluster_id, incidents.node_id, incidents.failure_category
    )
    group by cluster_id, node_id
),

failures as (
    select
        cluster_id,
        node_id,
        count(*) as incident_count,
        cast(sum(attempt_count) as bigint) as failure_count,
        sum(lost_gpu_hours) as lost_gpu_hours,
        max(failed_at) as last_failed_at
    from incidents
    group by cluster_id, node_id
),

outages as (
    select
        cluster_id,
        node_id,
        count(*) filter (where not is_planned) as fault_outage_count,
        count(*) filter (where is_planned) as planned_outage_count,
        sum(seconds) filter (where not is_planned) / 3600 as fault_outage_hours,
        sum(seconds) filter (where is_planned) / 3600 as planned_outage_hours,
        arg_max(reason, started_at) filter (where not is_planned) as last_fault_reason,
        max(started_at) filter (where is_open) as open_since,
        arg_max(reason, started_at) filter (where is_open) as open_reason,
        bool_and(is_planned) filter (where is_open) as open_is_planned
    from outages_of_nodes
    group by cluster_id, node_id
)

select
    cluster_id,
    node_id,
    coalesce(nodes.node_name, node_id) as node_name,
    coalesce(failures.incident_count, 0) as incident_count,
    coalesce(failures.failure_count, 0) as failure_count,
    failures.lost_gpu_hours,
    failures.last_failed_at,
    date_diff('day', failures.last_failed_at, clusters.last_at) as days_since_last_failure,
    causes.causes,
    relapses.relapsed_category,
    coalesce(relapsed.label, relapses.relapsed_category) as relapsed_label,
    relapses.relapsed_at,
    relapses.returned_at,
    lemons.verdict,
    lemons.posterior_probability as lemon_probability,
    coalesce(outages.fault_outage_count, 0) as fault_outage_count,
    coalesce(outages.planned_outage_count, 0) as planned_outage_count,
    outages.fault_outage_hours,
    outages.planned_outage_hours,
    outages.last_fault_reason,
    outages.open_since,
    outages.open_reason,
    outages.open_is_planned,
    row_number() over (
        partition by cluster_id
        order by
            coalesce(failures.incident_count, 0) desc,
            coalesce(outages.open_since is not null and not outages.open_is_planned, false) desc,
            coalesce(outages.fault_outage_count, 0) desc,
            node_id
    ) as place
from failures
full join outages using (cluster_id, node_id)
left join causes using (cluster_id, node_id)
left join relapses using (cluster_id, node_id)
left join marts.dim_clusters as clusters using (cluster_id)
left join marts.dim_failure_categories as relapsed on relapses.relapsed_category = relapsed.failure_category
left join estimates.est_lemon_nodes as lemons using (cluster_id, node_id)
left join marts.dim_nodes as nodes using (cluster_id, node_id)
order by cluster_id, place
