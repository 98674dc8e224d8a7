-- Lemons, nodes to watch, and the others by what fails most. One row per node.
with shown as (
    select
        *,
        row_number() over (
            partition by cluster_id
            order by
                list_position(['lemon', 'watch'], verdict) nulls last,
                rank nulls last,
                event_count desc nulls last,
                node_id
        ) as place
    from estimates.est_lemon_nodes
),

evidence as (
    select
        suspects.cluster_id,
        suspects.node_id,
        list(
            {
                'failed_at': suspects.failed_at,
                'label': coalesce(categories.label, incidents.failure_category)
            }
            order by suspects.failed_at desc, suspects.incident_id
        ) as failures
    from marts.fct_incident_suspects as suspects
    inner join shown using (cluster_id, node_id)
    inner join marts.fct_incidents as incidents using (cluster_id, incident_id)
    left join marts.dim_failure_categories as categories using (failure_category)
    where
        suspects.is_known
        and cast(suspects.failed_at as date) between shown.window_start_date and shown.window_end_date
    group by suspects.cluster_id, suspects.node_id
),

tickets as (
    select
        tickets.cluster_id,
        tickets.node_id,
        list(
            {'ticket_id': tickets.ticket_id, 'component': tickets.component}
            order by tickets.opened_at desc, tickets.ticket_id
        ) as tickets
    from marts.fct_tickets as tickets
    inner join shown using (cluster_id, node_id)
    where coalesce(tickets.closed_at, tickets.opened_at) >= shown.window_start_date
    group by tickets.cluster_id, tickets.node_id
)

select
    cluster_id,
    shown.place,
    coalesce(nodes.node_name, node_id) as node_name,
    shown.rank,
    shown.verdict,
    shown.posterior_probability,
    shown.rate,
    shown.rate_low,
    shown.rate_high,
    shown.event_count,
    shown.inferred_failure_count,
    shown.exposure,
    shown.reasons,
    evidence.failures[:3] as failures,
    tickets.tickets[:3] as tickets
from shown
left join marts.dim_nodes as nodes using (cluster_id, node_id)
left join evidence using (cluster_id, node_id)
left join tickets using (cluster_id, node_id)
order by cluster_id, shown.place
