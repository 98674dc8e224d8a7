-- Nodes: their incidents, outages, repairs that did not hold, and the verdict on them. One row per node.
-- An incident counts once, however many jobs it ended, if its node is known and it is no likely coincidence.
with incidents as (
    select
        suspects.*,
        incidents.failure_category,
        incidents.attempt_count,
        coalesce(categories.label, incidents.failure_category) as label
    from marts.fct_incident_suspects as suspects
    inner join marts.fct_incidents as incidents using (cluster_id, incident_id)
    left join marts.dim_failure_categories as categories using (failure_category)
    where suspects.is_known and suspects.incident_probability >= 0.5
),

-- A repair is in progress if a ticket of the node was opened a day before the outage or later, and is not closed.
outages_of_nodes as (
    select
        outages.* replace (outages.ended_at is null as is_open),
        exists (
            select 1
            from marts.fct_tickets as tickets
            where
                tickets.cluster_id = outages.cluster_id
                and tickets.node_id = outages.node_id
                and tickets.closed_at is null
                and tickets.opened_at >= outages.started_at - interval 1 day
        ) as has_ticket,
        epoch(coalesce(outages.ended_at, greatest(clusters.last_at, outages.started_at))) - epoch(outages.started_at)
            as seconds
    from marts.fct_node_outages as outages
    inner join marts.dim_clusters as clusters using (cluster_id)
    -- a machine that a cloud did not provide is not out of service
    where outages.failure_category is distinct from 'capacity'
),

followed as (
    select
        *,
        lag(failed_at) over (partition by cluster_id, node_id, failure_category order by failed_at, incident_id)
            as previous_failed_at
    from incidents
),

-- A fault came back if an outage ended between two incidents of one cause.
relapses as (
    select
        followed.cluster_id, followed.node_id,
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
        cluster_id, node_id,
        list({'category': failure_category, 'label': label, 'count': cause_count}
            order by cause_count desc, failure_category) as causes
    from (
        select cluster_id, node_id, failure_category, label, count(*) as cause_count
        from incidents
        group by all
    )
    group by cluster_id, node_id
),

counted as (
    select
        cluster_id, node_id,
        count(*) as incident_count,
        cast(sum(attempt_count) as bigint) as failure_count,
        max(failed_at) as last_failed_at,
        list({'failed_at': failed_at, 'label': label} order by failed_at desc, incident_id)[:3] as last_incidents
    from incidents
    group by cluster_id, node_id
),

losses as (
    select cluster_id, culprit_node_id as node_id, sum(posterior_probability * lost_gpu_hours) as lost_gpu_hours
    from marts.fct_failures
    group by all
),

recorded as (
    select cluster_id, node_id, count(*) as recorded_count
    from marts.fct_unit_failures
    group by all
),

outages as (
    select
        cluster_id, node_id,
        count(*) filter (where not is_planned) as fault_outage_count,
        count(*) filter (where is_planned) as planned_outage_count,
        sum(seconds) filter (where not is_planned) / 3600 as fault_outage_hours,
        sum(seconds) filter (where is_planned) / 3600 as planned_outage_hours,
        max(started_at) filter (where not is_planned) as last_fault_at,
        arg_max(reason, started_at) filter (where not is_planned) as last_fault_reason,
        arg_max(source, started_at) filter (where not is_planned and reason is not null) as last_fault_source,
        max(started_at) filter (where is_open) as open_since,
        arg_max(reason, started_at) filter (where is_open) as open_reason,
        arg_max(source, started_at) filter (where is_open and reason is not null) as open_source,
        bool_and(is_planned) filter (where is_open) as open_is_planned,
        bool_or(is_open and not is_planned and not has_ticket) as needs_repair
    from outages_of_nodes
    group by cluster_id, node_id
),

repairs as (
    select
        tickets.cluster_id, tickets.node_id,
        list({'ticket_id': tickets.ticket_id, 'component': tickets.component}
            order by tickets.opened_at desc, tickets.ticket_id)[:3] as last_tickets
    from marts.fct_tickets as tickets
    inner join estimates.est_lemon_nodes as lemons using (cluster_id, node_id)
    where coalesce(tickets.closed_at, tickets.opened_at) >= lemons.window_start_date
    group by tickets.cluster_id, tickets.node_id
)

select
    cluster_id, node_id, nodes.node_name,
    -- with recorded failures only, the configured GPUs per node would be a guess
    if(clusters.has_accounting or nodes.gpu_count_source = 'inventory', nodes.gpu_count, null) as gpu_count,
    clusters.has_accounting, nodes.rack, nodes.switch, nodes.nvlink_domain, nodes.position,
    repairs.last_tickets, causes.causes, losses.lost_gpu_hours,
    coalesce(recorded.recorded_count, 0) as recorded_count,
    relapses.* exclude (cluster_id, node_id),
    counted.* exclude (cluster_id, node_id) replace (coalesce(counted.incident_count, 0) as incident_count),
    outages.* exclude (cluster_id, node_id) replace (
        coalesce(outages.fault_outage_count, 0) as fault_outage_count,
        coalesce(outages.planned_outage_count, 0) as planned_outage_count
    ),
    lemons.* exclude (cluster_id, node_id),
    coalesce(counted.incident_count > 0, false)
    or coalesce(outages.fault_outage_count + outages.planned_outage_count > 0, false)
    or coalesce(lemons.verdict = 'lemon', false) as is_listed,
    signals.* exclude (cluster_id, node_id, window_end_date, window_days),
    signals.window_days as signal_days,
    date_diff('day', lemons.window_start_date, lemons.window_end_date) + 1 as window_days,
    -- an outage may begin after the last job ended
    greatest(0, epoch(clusters.last_at - outages.open_since)) / 3600 as open_outage_hours,
    row_number() over (
        partition by cluster_id
        order by
            lemons.verdict = 'lemon' desc nulls last, lemons.verdict = 'watch' desc nulls last, lemons.rank nulls last,
            lemons.event_count desc nulls last, counted.incident_count desc nulls last, node_id
    ) as lemon_number,
    date_diff('day', counted.last_failed_at, clusters.data_through_at) as days_since_last_incident,
    date_diff('day', outages.last_fault_at, clusters.data_through_at) as days_since_last_fault,
    epoch(clusters.data_through_at - relapses.relapsed_at) / 86400 as days_since_relapse
from marts.dim_nodes as nodes
inner join marts.dim_clusters as clusters using (cluster_id)
left join counted using (cluster_id, node_id)
left join outages using (cluster_id, node_id)
left join causes using (cluster_id, node_id)
left join losses using (cluster_id, node_id)
left join recorded using (cluster_id, node_id)
left join relapses using (cluster_id, node_id)
left join repairs using (cluster_id, node_id)
left join estimates.est_lemon_nodes as lemons using (cluster_id, node_id)
left join marts.agg_lemon_signals as signals using (cluster_id, node_id, window_end_date)
order by
    cluster_id,
    incident_count desc,
    coalesce(outages.open_since is not null and not outages.open_is_planned, false) desc,
    fault_outage_count desc,
    node_id
