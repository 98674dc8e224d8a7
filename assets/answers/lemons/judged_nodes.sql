-- Lemons and nodes to watch, with their latest failures, tickets and open outages. One row per node.
with shown as (
    select *
    from estimates.est_lemon_nodes
    where verdict in ('lemon', 'watch')
),

failures as (
    select
        suspects.cluster_id,
        suspects.node_id,
        list({failed_at: suspects.failed_at, failure_category: incidents.failure_category}
            order by suspects.failed_at desc) as last_failures
    from marts.fct_incident_suspects as suspects
    inner join shown using (cluster_id, node_id)
    inner join marts.fct_incidents as incidents using (cluster_id, incident_id)
    where suspects.is_known and cast(suspects.failed_at as date) >= shown.window_start_date
    group by suspects.cluster_id, suspects.node_id
),

repairs as (
    select
        tickets.cluster_id,
        tickets.node_id,
        list({ticket_id: tickets.ticket_id, opened_at: tickets.opened_at, component: tickets.component}
            order by tickets.opened_at desc) as last_tickets
    from marts.fct_tickets as tickets
    inner join shown using (cluster_id, node_id)
    where coalesce(tickets.closed_at, tickets.opened_at) >= shown.window_start_date
    group by tickets.cluster_id, tickets.node_id
),

open_outages as (
    select
        cluster_id,
        node_id,
        arg_max(coalesce(reason, state), started_at) as out_of_service_reason
    from marts.fct_node_outages
    where is_open
    group by cluster_id, node_id
)

select
    shown.*,
    nodes.node_name,
    shown.exposure as node_days,
    coalesce(failures.last_failures[:3], []) as last_failures,
    case when clusters.has_tickets then coalesce(repairs.last_tickets[:3], []) end as last_tickets,
    open_outages.out_of_service_reason
from shown
inner join marts.dim_nodes as nodes using (cluster_id, node_id)
inner join marts.dim_clusters as clusters using (cluster_id)
left join failures using (cluster_id, node_id)
left join repairs using (cluster_id, node_id)
left join open_outages using (cluster_id, node_id)
order by shown.cluster_id, shown.verdict, shown.rank nulls last, shown.node_id
