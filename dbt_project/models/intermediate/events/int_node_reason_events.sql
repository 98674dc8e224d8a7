with

parts as (

    select * from {{ ref('int_node_outage_parts') }}

),

withdrawals as (

    select * from {{ ref('int_node_withdrawals') }}

),

inventory_withdrawals as (

    select * from {{ ref('int_inventory_withdrawals') }}

),

service_changes as (

    select * from {{ ref('int_node_service_changes') }}

),

reasons as (

    select * from {{ ref('int_node_reasons_classified') }}

),

events as (

    select * from {{ ref('stg_slurmctld__events') }}
    where
        kind = 'site_rule'
        and node_id is not null

),

site_rules as (

    select * from {{ ref('stg_config__kernel_rules') }}

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

-- A line of the controller that takes no node out of service, but that the site has a rule for.
by_site_rule as (

    select
        events.cluster_id,
        events.node_id,
        events.logged_at as observed_at,
        'slurmctld' as source,
        events.message as reason,
        cast(null as integer) as code,
        site_rules.failure_category,
        cast(null as string) as co_category,
        site_rules.severity,
        site_rules.evidence_class,
        'slurm' as origin,
        cast(null as bigint) as job_id_raw,
        events.source_path,
        events.source_line_number
    from events
    inner join site_rules
        on
            events.cluster_id = site_rules.cluster_id
            and events.rule_pattern = site_rules.pattern

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
    from parts
    where
        not is_in_slurmctld_log
        and source != 'slurmctld'

),

-- A drain asked for while a job still runs has no row yet; the inventory knows reason and time.
only_in_inventory as (

    select
        inventory_withdrawals.cluster_id,
        inventory_withdrawals.node_id,
        inventory_withdrawals.reason_at as observed_at,
        'node_event' as source,
        inventory_withdrawals.reason,
        reasons.code,
        coalesce(reasons.failure_category, 'unmapped') as failure_category,
        reasons.co_category,
        coalesce(reasons.severity, 'info') as severity,
        coalesce(reasons.evidence_class, 'none') as evidence_class,
        coalesce(reasons.origin, 'administrator') as origin,
        cast(null as bigint) as job_id_raw,
        inventory_withdrawals.source_path,
        inventory_withdrawals.source_line_number
    from inventory_withdrawals
    left join reasons
        on
            inventory_withdrawals.cluster_id = reasons.cluster_id
            and lower(inventory_withdrawals.reason) = reasons.reason_key
    where
        not exists (
            select 1
            from parts
            where
                inventory_withdrawals.cluster_id = parts.cluster_id
                and inventory_withdrawals.node_id = parts.node_id
                and lower(inventory_withdrawals.reason) = lower(parts.reason)
                and coalesce(parts.ended_at, timestamp '9999-01-01') >= inventory_withdrawals.reason_at
                and coalesce(inventory_withdrawals.ended_at, timestamp '9999-01-01') > parts.started_at
        )
        -- Every line of the log: a check that sets its reason again is one withdrawal, and has the time of the last.
        and not exists (
            select 1
            from service_changes
            where
                service_changes.kind != 'return'
                and inventory_withdrawals.cluster_id = service_changes.cluster_id
                and inventory_withdrawals.node_id = service_changes.node_id
                and lower(inventory_withdrawals.reason) = lower(service_changes.reason)
                and abs(
                    {{ seconds_between('service_changes.changed_at', 'inventory_withdrawals.reason_at') }}
                ) <= 2
        )

)

select * from in_slurmctld_log
union all
select * from by_site_rule
union all
select * from in_node_events
union all
select * from only_in_inventory
