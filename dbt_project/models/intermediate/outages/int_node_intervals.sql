with

node_events as (

    select * from {{ ref('stg_sacctmgr__node_events') }}
    where node_id is not null

),

service_changes as (

    select * from {{ ref('int_node_service_changes') }}

),

withdrawals as (

    select * from {{ ref('int_node_withdrawals') }}

),

inventory_withdrawals as (

    select * from {{ ref('int_inventory_withdrawals') }}

),

reasons as (

    select * from {{ ref('int_node_reasons_classified') }}

),

event_spans as (

    select * from {{ ref('stg_ops__spans') }}
    where kind = 'events'

),

last_event_spans as (

    select
        cluster_id,
        max(to_at) as to_at
    from event_spans
    group by cluster_id

),

returns as (

    select
        cluster_id,
        node_id,
        return_count,
        min(changed_at) as returned_at
    from service_changes
    where kind = 'return'
    group by cluster_id, node_id, return_count

),

-- What came back after the last export of events is told by the controller's log alone.
later_returns as (

    select
        returns.cluster_id,
        returns.node_id,
        min(returns.changed_at) as returned_at
    from service_changes as returns
    inner join last_event_spans
        on
            returns.cluster_id = last_event_spans.cluster_id
            and returns.changed_at > last_event_spans.to_at
    where returns.kind = 'return'
    group by returns.cluster_id, returns.node_id

),

-- A node has one state at a time: an open row ended at the latest where the node's next row begins.
recorded as (

    select
        node_events.cluster_id,
        node_events.node_id,
        node_events.started_at,
        coalesce(
            node_events.ended_at,
            lead(node_events.started_at) over (
                partition by node_events.cluster_id, node_events.node_id
                order by node_events.started_at, node_events.source_path, node_events.source_line_number
            ),
            later_returns.returned_at
        ) as ended_at,
        node_events.state,
        node_events.state_flags,
        node_events.reason,
        node_events.reason_user,
        'sacctmgr' as source,
        node_events.source_path,
        node_events.source_line_number
    from node_events
    left join later_returns
        on
            node_events.cluster_id = later_returns.cluster_id
            and node_events.node_id = later_returns.node_id
            and node_events.started_at < later_returns.returned_at

),

-- Slurm keeps the reason of a node that is out already, whatever it finds after that.
effective_withdrawals as (

    select * from withdrawals
    where state is not null
    qualify
        kind = 'request'
        or withdrawn_at = min(withdrawn_at) over (partition by cluster_id, node_id, return_count)

),

-- Outside what an export of node events covers, the controller's log still tells when a node was taken out and came
-- back. What it says of a node that a row says is out, or that begins within a minute, is the same outage.
unrecorded_withdrawals as (

    select withdrawals.*
    from effective_withdrawals as withdrawals
    where
        not exists (
            select 1
            from event_spans
            where
                withdrawals.cluster_id = event_spans.cluster_id
                and withdrawals.withdrawn_at >= event_spans.from_at
                and withdrawals.withdrawn_at <= event_spans.to_at
        )
        and not exists (
            select 1
            from recorded
            where
                withdrawals.cluster_id = recorded.cluster_id
                and withdrawals.node_id = recorded.node_id
                and withdrawals.withdrawn_at + interval 60 second >= recorded.started_at
                and withdrawals.withdrawn_at < coalesce(recorded.ended_at, timestamp '9999-01-01')
        )

),

-- From the next export, or the next row of the node, on the events say whether it is out.
known_from as (

    select
        cluster_id,
        cast(null as string) as node_id,
        from_at as known_at
    from event_spans
    union all
    select
        cluster_id,
        node_id,
        started_at as known_at
    from recorded

),

known_later as (

    select
        withdrawals.cluster_id,
        withdrawals.node_id,
        withdrawals.withdrawn_at,
        min(known.known_at) as known_at
    from unrecorded_withdrawals as withdrawals
    inner join known_from as known
        on
            withdrawals.cluster_id = known.cluster_id
            and coalesce(known.node_id, withdrawals.node_id) = withdrawals.node_id
            and withdrawals.withdrawn_at < known.known_at
    group by withdrawals.cluster_id, withdrawals.node_id, withdrawals.withdrawn_at

),

logged as (

    select
        withdrawals.cluster_id,
        withdrawals.node_id,
        withdrawals.withdrawn_at as started_at,
        least(
            returns.returned_at,
            known_later.known_at,
            lead(withdrawals.withdrawn_at) over (
                partition by withdrawals.cluster_id, withdrawals.node_id, withdrawals.return_count
                order by withdrawals.withdrawn_at, withdrawals.source_line_number
            )
        ) as ended_at,
        replace(withdrawals.state, '$', '') as state,
        -- In a reservation for maintenance the log has DRAINED$.
        case when contains(withdrawals.state, '$') then '$' end as state_flags,
        withdrawals.reason,
        cast(null as string) as reason_user,
        'slurmctld' as source,
        withdrawals.source_path,
        withdrawals.source_line_number
    from unrecorded_withdrawals as withdrawals
    left join known_later
        on
            withdrawals.cluster_id = known_later.cluster_id
            and withdrawals.node_id = known_later.node_id
            and withdrawals.withdrawn_at = known_later.withdrawn_at
    left join returns
        on
            withdrawals.cluster_id = returns.cluster_id
            and withdrawals.node_id = returns.node_id
            and withdrawals.return_count = returns.return_count

),

-- A node that snapshots of the inventory show out, of which neither of the others knows anything in that time.
seen_in_inventory as (

    select
        inventory_withdrawals.cluster_id,
        inventory_withdrawals.node_id,
        inventory_withdrawals.reason_at as started_at,
        inventory_withdrawals.ended_at,
        inventory_withdrawals.out_state as state,
        cast(null as string) as state_flags,
        inventory_withdrawals.reason,
        inventory_withdrawals.reason_user,
        'inventory' as source,
        inventory_withdrawals.source_path,
        inventory_withdrawals.source_line_number
    from inventory_withdrawals
    where
        inventory_withdrawals.out_state is not null
        and not exists (
            select 1
            from recorded
            where
                inventory_withdrawals.cluster_id = recorded.cluster_id
                and inventory_withdrawals.node_id = recorded.node_id
                and coalesce(recorded.ended_at, timestamp '9999-01-01') > inventory_withdrawals.reason_at
                and coalesce(inventory_withdrawals.ended_at, timestamp '9999-01-01') > recorded.started_at
        )
        and not exists (
            select 1
            from logged
            where
                inventory_withdrawals.cluster_id = logged.cluster_id
                and inventory_withdrawals.node_id = logged.node_id
                and coalesce(logged.ended_at, timestamp '9999-01-01') > inventory_withdrawals.reason_at
                and coalesce(inventory_withdrawals.ended_at, timestamp '9999-01-01') > logged.started_at
        )

),

intervals as (

    select * from recorded
    union all
    select * from logged
    union all
    select * from seen_in_inventory

),

classified as (

    select
        intervals.*,
        reasons.code,
        reasons.co_category,
        coalesce(reasons.severity, 'info') as severity,
        coalesce(reasons.evidence_class, 'none') as evidence_class,
        case
            -- In a reservation for maintenance a node that stops answering was switched off.
            when
                reasons.failure_category = 'node_fail_unattributed'
                and contains(coalesce(intervals.state_flags, ''), '$')
                then 'planned'
            when coalesce(reasons.failure_category, 'unmapped') != 'unmapped' then reasons.failure_category
            when
                {{ regex_matches("coalesce(intervals.state, '')", "'MAINT|POWER|REBOOT'") }}
                or {{ regex_matches("coalesce(intervals.state_flags, '')", "'[$~%!@^]'") }}
                then 'planned'
            when intervals.reason is null and contains(coalesce(intervals.state_flags, ''), '*')
                then 'node_fail_unattributed'
            else 'unmapped'
        end as failure_category,
        coalesce(reasons.origin, 'slurm') as origin
    from intervals
    left join reasons
        on
            intervals.cluster_id = reasons.cluster_id
            and lower(intervals.reason) = reasons.reason_key

)

select
    cluster_id,
    node_id,
    started_at,
    ended_at,
    state,
    reason,
    reason_user,
    failure_category,
    code,
    co_category,
    severity,
    evidence_class,
    origin,
    source,
    source_path,
    source_line_number
from classified
