with

intervals as (

    select * from {{ ref('int_node_intervals') }}

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

-- Slurm writes a new row when only a flag of the state changes; a repair that takes a few seconds longer is one outage.
numbered as (

    {{ numbered_within_a_minute(
        'intervals', ['cluster_id', 'node_id', 'failure_category'], 'part_number'
    ) | indent(4) }}

),

merged as (

    select
        cluster_id,
        node_id,
        failure_category,
        part_number,
        min(started_at) as started_at,
        case when bool_and(ended_at is not null) then max(ended_at) end as ended_at,
        {{ first_by('state', 'started_at') }} as state,
        {{ first_by('reason', 'started_at') }} as reason,
        {{ first_by('reason_user', 'started_at') }} as reason_user,
        {{ first_by('code', 'started_at') }} as code,
        {{ first_by('co_category', 'started_at') }} as co_category,
        {{ first_by('severity', 'started_at') }} as severity,
        {{ first_by('evidence_class', 'started_at') }} as evidence_class,
        {{ first_by('origin', 'started_at') }} as origin,
        {{ best_source_of_outage() }} as source,
        -- What the controller's log tells of an outage that an export of events goes on with is no row of that export.
        coalesce(nullif(count(case when source = 'sacctmgr' then 1 end), 0), count(*)) as interval_count,
        {{ first_by('source_path', 'started_at') }} as source_path,
        {{ first_by('source_line_number', 'started_at') }} as source_line_number
    from numbered
    group by cluster_id, node_id, failure_category, part_number

),

counted_returns as (

    select
        cluster_id,
        node_id,
        changed_at as returned_at,
        return_count + 1 as return_count
    from service_changes
    where kind = 'return'

),

-- Event rows carry whole seconds, the log milliseconds: a second of tolerance on either side.
placed_between_returns as (

    {{ asof_left_join(
        'merged', 'counted_returns', ['cluster_id', 'node_id'],
        'merged.started_at + interval 1 second', 'returned_at', 'return_count'
    ) | indent(4) }}

),

-- A reason that snapshots show asks for the first outage after it, and not for later ones of the same reason.
asked_in_inventory as (

    select
        merged.cluster_id,
        merged.node_id,
        merged.failure_category,
        merged.part_number,
        merged.started_at,
        inventory_withdrawals.reason_at
    from merged
    inner join inventory_withdrawals
        on
            merged.cluster_id = inventory_withdrawals.cluster_id
            and merged.node_id = inventory_withdrawals.node_id
            and lower(merged.reason) = lower(inventory_withdrawals.reason)
            and coalesce(merged.ended_at, timestamp '9999-01-01') >= inventory_withdrawals.reason_at
            and coalesce(inventory_withdrawals.ended_at, timestamp '9999-01-01') > merged.started_at
    qualify
        row_number() over (
            partition by
                inventory_withdrawals.cluster_id, inventory_withdrawals.node_id, inventory_withdrawals.reason_at
            order by merged.started_at
        ) = 1

),

inventory_requests as (

    select
        cluster_id,
        node_id,
        failure_category,
        part_number,
        min(reason_at) as reason_at
    from asked_in_inventory
    where reason_at <= started_at + interval 2 second
    group by cluster_id, node_id, failure_category, part_number

)

select
    parts.cluster_id,
    parts.node_id,
    parts.started_at,
    parts.ended_at,
    parts.state,
    parts.reason,
    parts.reason_user,
    parts.failure_category,
    parts.failure_category = 'planned' as is_planned,
    parts.code,
    parts.co_category,
    parts.severity,
    parts.evidence_class,
    parts.origin,
    case
        when withdrawals.kind = 'request' then least(withdrawals.withdrawn_at, parts.started_at)
        when withdrawals.kind is null and inventory_requests.reason_at is not null
            then least(inventory_requests.reason_at, parts.started_at)
    end as requested_at,
    withdrawals.withdrawn_at is not null as is_in_slurmctld_log,
    parts.source,
    parts.interval_count,
    parts.source_path,
    parts.source_line_number
from placed_between_returns as parts
left join withdrawals
    on
        parts.cluster_id = withdrawals.cluster_id
        and parts.node_id = withdrawals.node_id
        and coalesce(parts.return_count, 0) = withdrawals.return_count
        and lower(parts.reason) = lower(withdrawals.reason)
        and withdrawals.withdrawn_at <= parts.started_at + interval 2 second
left join inventory_requests
    on
        parts.cluster_id = inventory_requests.cluster_id
        and parts.node_id = inventory_requests.node_id
        and parts.failure_category = inventory_requests.failure_category
        and parts.part_number = inventory_requests.part_number
