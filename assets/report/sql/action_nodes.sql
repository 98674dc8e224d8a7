-- Nodes that call for something: lemons, open outages nobody repairs, repairs that did not hold. One row per node.
-- An incident counts once, however many jobs it ended, and only where its node is known.
with incidents as (
    select
        suspects.cluster_id,
        suspects.node_id,
        suspects.incident_id,
        suspects.failed_at,
        suspects.incident_probability,
        incidents.failure_category
    from marts.fct_incident_suspects as suspects
    inner join marts.fct_incidents as incidents using (cluster_id, incident_id)
    where suspects.is_known
),

followed as (
    select
        *,
        lag(failed_at) over (
            partition by cluster_id, node_id, failure_category order by failed_at, incident_id
        ) as previous_failed_at
    from incidents
),

-- A fault came back where an outage ended between two incidents of one cause.
relapses as (
    select
        followed.cluster_id,
        followed.node_id,
        arg_max(followed.failure_category, followed.failed_at) as relapsed_category,
        max(followed.failed_at) as relapsed_at,
        arg_max(outages.ended_at, followed.failed_at) as returned_at
    from followed
    inner join marts.fct_node_outages as outages
        on
            followed.cluster_id = outages.cluster_id
            and followed.node_id = outages.node_id
            and not outages.is_planned
            and outages.started_at >= followed.previous_failed_at - interval 15 minute
            and outages.ended_at < followed.failed_at
    group by followed.cluster_id, followed.node_id
),

-- A repair is under way where a ticket of the node was opened about when it went down, and is not closed.
open_outages as (
    select
        outages.cluster_id,
        outages.node_id,
        max(outages.started_at) as open_since,
        arg_max(outages.reason, outages.started_at) as open_reason
    from marts.fct_node_outages as outages
    left join marts.fct_tickets as tickets
        on
            outages.cluster_id = tickets.cluster_id
            and outages.node_id = tickets.node_id
            and tickets.closed_at is null
            and tickets.opened_at >= outages.started_at - interval 1 day
    where
        outages.ended_at is null
        and not outages.is_planned
        and tickets.ticket_id is null
    group by outages.cluster_id, outages.node_id
),

counted as (
    select
        cluster_id,
        node_id,
        count(*) as incident_count,
        max(failed_at) as last_failed_at
    from incidents
    group by cluster_id, node_id
),

-- What an incident of a known node costs: over the fleet, as a node's own few would say little.
losses as (
    select
        suspects.cluster_id,
        sum(suspects.lost_gpu_hours * suspects.incident_probability) / nullif(sum(suspects.incident_probability), 0)
            as lost_gpu_hours_per_incident
    from marts.fct_incident_suspects as suspects
    where suspects.is_known
    group by suspects.cluster_id
)

select
    cluster_id,
    node_id,
    coalesce(nodes.node_name, node_id) as node_name,
    nodes.gpu_count,
    lemons.verdict,
    lemons.rank,
    lemons.posterior_probability,
    lemons.rate,
    lemons.rate_low,
    lemons.rate_high,
    lemons.fleet_rate,
    lemons.reasons,
    lemons.event_count,
    lemons.exposure,
    lemons.confidence_level,
    lemons.window_start_date,
    lemons.window_end_date,
    date_diff('day', lemons.window_start_date, lemons.window_end_date) + 1 as window_days,
    losses.lost_gpu_hours_per_incident,
    counted.incident_count,
    open_outages.open_since,
    open_outages.open_reason,
    relapses.relapsed_category,
    coalesce(categories.label, relapses.relapsed_category) as relapsed_label,
    relapses.relapsed_at,
    relapses.returned_at,
    epoch(clusters.last_at - counted.last_failed_at) / 86400 as days_since_last_incident,
    epoch(clusters.last_at - relapses.relapsed_at) / 86400 as days_since_relapse,
    epoch(clusters.last_at - open_outages.open_since) / 86400 as open_days,
    epoch(clusters.study_to_at - clusters.study_from_at) / 86400 as study_days
from marts.dim_nodes as nodes
inner join marts.dim_clusters as clusters using (cluster_id)
left join counted using (cluster_id, node_id)
left join open_outages using (cluster_id, node_id)
left join relapses using (cluster_id, node_id)
left join losses using (cluster_id)
left join estimates.est_lemon_nodes as lemons using (cluster_id, node_id)
left join marts.dim_failure_categories as categories on relapses.relapsed_category = categories.failure_category
where
    lemons.verdict = 'lemon'
    or open_outages.open_since is not null
    or relapses.relapsed_at is not null
order by cluster_id, lemons.rank nulls last, open_outages.open_since, node_id
