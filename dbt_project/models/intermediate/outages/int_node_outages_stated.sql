with

node_events as (

    select * from {{ ref('stg_sacctmgr__node_events') }}
    where node_id is not null

),

service_changes as (

    select * from {{ ref('int_node_service_changes') }}

),

event_spans as (

    select * from {{ ref('stg_ops__spans') }}
    where kind = 'events'

),

-- Only the controller's log reports returns after the last export of events.
later_returns as (

    select
        cluster_id,
        node_id,
        min(changed_at) as returned_at
    from service_changes
    where
        kind = 'return'
        and changed_at > (
            select max(event_spans.to_at) from event_spans
            where service_changes.cluster_id = event_spans.cluster_id
        )
    group by cluster_id, node_id

),

-- A node has one state at a time: an open row ends at the latest when the node's next row begins.
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

-- Slurm keeps the reason of a node that is already out, even after later findings.
effective_withdrawals as (

    select * from service_changes
    where
        is_withdrawal
        and state_of_reason is not null
    qualify
        kind = 'request'
        or changed_at = min(changed_at) over (partition by cluster_id, node_id, return_count)

),

withdrawn_nodes as (

    select distinct
        cluster_id,
        node_id
    from effective_withdrawals

),

-- Spans in which an export of node events, or a row of the node, says whether it is out, and since when.
known as (

    select
        withdrawn_nodes.cluster_id,
        withdrawn_nodes.node_id,
        event_spans.from_at as known_at,
        event_spans.from_at,
        event_spans.to_at + interval 1 microsecond as to_at
    from event_spans
    inner join withdrawn_nodes on event_spans.cluster_id = withdrawn_nodes.cluster_id
    union all
    select
        cluster_id,
        node_id,
        started_at as known_at,
        started_at - interval 60 second as from_at,
        coalesce(ended_at, {{ last_time() }}) as to_at
    from recorded

),

-- Latest end of the spans that begin up to a time.
known_ends as (

    select
        cluster_id,
        node_id,
        from_at,
        max(to_at) over (partition by cluster_id, node_id order by from_at) as known_until
    from known

),

distinct_starts as (

    select distinct
        cluster_id,
        node_id,
        known_at
    from known

),

known_starts as (

    select
        cluster_id,
        node_id,
        known_at,
        coalesce(
            lag(known_at) over (partition by cluster_id, node_id order by known_at), timestamp '0001-01-01'
        ) as previous_known_at
    from distinct_starts

),

withdrawals_with_ends as (

    {{ asof_left_join(
        'effective_withdrawals', 'known_ends', ['cluster_id', 'node_id'],
        'effective_withdrawals.changed_at', 'from_at', 'known_until'
    ) | indent(4) }}

),

withdrawals_with_starts as (

    {{ asof_left_join(
        'withdrawals_with_ends', 'known_starts', ['cluster_id', 'node_id'],
        'withdrawals_with_ends.changed_at', 'previous_known_at', 'known_at'
    ) | indent(4) }}

),

-- Outside these spans, the controller's log shows when a node went out and came back. A withdrawal in the log is the
-- same outage as a row that overlaps it or begins within a minute.
unrecorded_withdrawals as (

    select * from withdrawals_with_starts
    where coalesce(known_until <= changed_at, true)

),

logged as (

    select
        cluster_id,
        node_id,
        changed_at as started_at,
        least(
            returned_at,
            case when known_at > changed_at then known_at end,
            lead(changed_at) over (
                partition by cluster_id, node_id, return_count
                order by changed_at, source_line_number
            )
        ) as ended_at,
        replace(state_of_reason, '$', '') as state,
        -- In a maintenance reservation, the log has DRAINED$.
        case when contains(state_of_reason, '$') then '$' end as state_flags,
        reason,
        cast(null as string) as reason_user,
        'slurmctld' as source,
        source_path,
        source_line_number
    from unrecorded_withdrawals

)

select * from recorded
union all
select * from logged
