with

outages as (

    select * from {{ ref('int_node_outages') }}

),

withdrawals as (

    select * from {{ ref('int_node_withdrawals') }}

),

nodes as (

    select * from {{ ref('stg_inventory__nodes') }}

),

reasons as (

    select * from {{ ref('int_node_reasons_classified') }}

),

in_slurmctld_log as (

    select
        withdrawals.cluster_id,
        withdrawals.node_id,
        withdrawals.withdrawn_at as observed_at,
        'slurmctld' as source,
        withdrawals.reason,
        reasons.code,
        coalesce(reasons.failure_category, 'unmapped') as failure_category,
        reasons.co_category,
        coalesce(reasons.severity, 'info') as severity,
        -- A reason written down without taking the node out is a comment on something older.
        case
            when withdrawals.state is not null then coalesce(reasons.evidence_class, 'none')
            else {{ cap_at_supporting("coalesce(reasons.evidence_class, 'none')") }}
        end as evidence_class,
        coalesce(reasons.origin, 'administrator') as origin,
        withdrawals.job_id_raw,
        withdrawals.source_path,
        withdrawals.source_line_number
    from withdrawals
    left join reasons
        on
            withdrawals.cluster_id = reasons.cluster_id
            and lower(withdrawals.reason) = reasons.reason_key

),

-- A drained node's row begins when its last job has ended: without the request's time it cannot explain that end.
in_node_events as (

    select
        cluster_id,
        node_id,
        coalesce(requested_at, started_at) as observed_at,
        'node_event' as source,
        reason,
        code,
        failure_category,
        co_category,
        severity,
        case
            when requested_at is not null or state like 'DOWN%' then evidence_class
            else {{ cap_at_supporting('evidence_class') }}
        end as evidence_class,
        origin,
        cast(null as bigint) as job_id_raw,
        source_path,
        source_line_number
    from outages
    where
        not is_in_slurmctld_log
        and source != 'slurmctld'

),

-- A drain asked for while a job still runs has no row yet; the inventory knows reason and time.
only_in_inventory as (

    select
        nodes.cluster_id,
        nodes.node_id,
        nodes.reason_at as observed_at,
        'node_event' as source,
        nodes.reason,
        reasons.code,
        coalesce(reasons.failure_category, 'unmapped') as failure_category,
        reasons.co_category,
        coalesce(reasons.severity, 'info') as severity,
        coalesce(reasons.evidence_class, 'none') as evidence_class,
        coalesce(reasons.origin, 'administrator') as origin,
        cast(null as bigint) as job_id_raw,
        nodes.source_path,
        nodes.source_line_number
    from nodes
    left join reasons
        on
            nodes.cluster_id = reasons.cluster_id
            and lower(nodes.reason) = reasons.reason_key
    where
        nodes.reason is not null
        and nodes.reason_at is not null
        and not exists (
            select 1
            from outages
            where
                nodes.cluster_id = outages.cluster_id
                and nodes.node_id = outages.node_id
                and lower(nodes.reason) = lower(outages.reason)
                and coalesce(outages.ended_at, timestamp '9999-01-01') >= nodes.reason_at
        )
        and not exists (
            select 1
            from withdrawals
            where
                nodes.cluster_id = withdrawals.cluster_id
                and nodes.node_id = withdrawals.node_id
                and lower(nodes.reason) = lower(withdrawals.reason)
                and abs({{ seconds_between('withdrawals.withdrawn_at', 'nodes.reason_at') }}) <= 2
        )

)

select * from in_slurmctld_log
union all
select * from in_node_events
union all
select * from only_in_inventory
