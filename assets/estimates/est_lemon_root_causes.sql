-- The lemons of each cluster by the component that their repair tickets name most often.
with windows as (
    select
        cluster_id,
        rate_start_date
    from marts.agg_lemon_windows
),

clusters_with_tickets as (
    select distinct cluster_id
    from marts.fct_tickets
),

lemons as (
    select
        cluster_id,
        node_id
    from estimates.est_lemon_nodes
    where verdict = 'lemon'
),

-- A ticket that was closed before the days on which the node was found says nothing of them.
named_components as (
    select
        tickets.cluster_id,
        tickets.node_id,
        tickets.component,
        count(*) as ticket_count,
        max(tickets.opened_at) as last_opened_at
    from marts.fct_tickets as tickets
    inner join windows using (cluster_id)
    where
        tickets.component not in ('other', 'unknown')
        and coalesce(tickets.closed_at, tickets.opened_at) >= windows.rate_start_date
    group by tickets.cluster_id, tickets.node_id, tickets.component
),

components as (
    select
        cluster_id,
        node_id,
        arg_max(component, (ticket_count, last_opened_at, component)) as component
    from named_components
    group by cluster_id, node_id
),

causes as (
    select
        lemons.cluster_id,
        coalesce(components.component, 'unknown') as root_cause,
        count(*) as node_count
    from lemons
    left join components using (cluster_id, node_id)
    group by all
)

select
    causes.cluster_id,
    causes.root_cause,
    causes.node_count,
    cast(sum(causes.node_count) over (partition by causes.cluster_id) as bigint) as lemon_count,
    case
        when causes.root_cause = 'unknown' and clusters_with_tickets.cluster_id is null then 'no tickets were given'
        when causes.root_cause = 'unknown' then 'no ticket of these nodes names a component'
    end as note
from causes
left join clusters_with_tickets using (cluster_id)
order by causes.cluster_id, causes.node_count desc, causes.root_cause
