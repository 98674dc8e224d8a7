-- Entries about an attempt's nodes around its end, without evidence. One row per attempt and entry.
-- For a failure: only its culprit, if known, and up to an hour away, because a node may log nothing until it is back.
with asked as ({{ attempts }}),

ends as (
    select cluster_id, attempt_id, ended_at, culprit_node_id as node_id, 3600 as reach
    from asked
    where culprit_node_id is not null
    union all
    select
        cluster_id, attempt_id, asked.ended_at, nodes.node_id,
        case when failures.attempt_id is null then 300 else 3600 end as reach
    from asked
    inner join marts.fct_attempt_nodes as nodes using (cluster_id, attempt_id)
    left join marts.fct_failures as failures using (cluster_id, attempt_id)
    where asked.culprit_node_id is null
),

-- `place` ranks the entries, the most informative first.
entries as (
    select
        ends.*, 1 as place, 'outage' as kind, outages.started_at as observed_at, outages.ended_at as until_at,
        coalesce(outages.state, 'out of service') as check_name, outages.reason as message,
        outages.failure_category, outages.origin as source, outages.source_path, outages.source_line_number
    from ends
    inner join marts.fct_node_outages as outages using (cluster_id, node_id)
    where epoch(outages.started_at) - epoch(ends.ended_at) between -300 and ends.reach
    union all
    select
        ends.*, case when events.is_evidence or events.check_name = 'boot' then 3 else 4 end, 'event',
        events.observed_at, events.cleared_at, events.check_name, events.message,
        events.failure_category, events.source, events.source_path, events.source_line_number
    from ends
    inner join marts.fct_health_events as events using (cluster_id, node_id)
    anti join marts.fct_failure_evidence as evidence using (cluster_id, attempt_id, event_id)
    where
        not events.is_repeat
        -- A repaired node boots late.
        and epoch(events.observed_at) - epoch(ends.ended_at)
        between -ends.reach and case events.check_name when 'boot' then 72 * ends.reach else ends.reach end
    union all
    select
        ends.*, 2, 'ticket', tickets.opened_at, tickets.closed_at,
        tickets.component, concat_ws(': ', tickets.action, tickets.summary),
        tickets.failure_category, tickets.ticket_id, tickets.source_path, tickets.source_line_number
    from ends
    inner join marts.fct_tickets as tickets using (cluster_id, node_id)
    where
        ends.reach = 3600
        and tickets.opened_at between ends.ended_at - interval 1 hour and ends.ended_at + interval 3 day
)

select
    entries.* exclude (reach, place) replace (left(message, 200) as message),
    epoch(observed_at) - epoch(ended_at) as lag_seconds,
    coalesce(nodes.node_name, node_id) as node_name,
    exists (
        from ops.sight
        where
            sight.cluster_id = entries.cluster_id
            and sight.node_id = entries.node_id
            and sight.kind = 'kernel'
            and sight.day_date = cast(entries.ended_at as date)
    ) as has_kernel_log
from entries
left join marts.dim_nodes as nodes using (cluster_id, node_id)
-- An outage and an event may have the same reason: keep the outage, which has an end.
qualify
    row_number() over (
        partition by cluster_id, attempt_id, node_id, coalesce(message, check_name), kind = 'ticket'
        order by place, abs(lag_seconds)
    ) = 1
order by cluster_id, attempt_id, place, abs(lag_seconds), node_id, kind, message
