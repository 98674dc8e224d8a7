with

stated as (

    select * from {{ ref('int_node_outages_stated') }}

),

service_changes as (

    select * from {{ ref('int_node_service_changes') }}

),

inventory_withdrawals as (

    select * from {{ ref('int_inventory_withdrawals') }}

),

cloud_flags as (

    select
        cluster_id,
        node_id,
        bool_or({{ regex_matches('state', "'CLOUD'") }}) as has_flag
    from {{ ref('stg_inventory__snapshots') }}
    where state is not null
    group by cluster_id, node_id

),

failure_records as (

    select * from {{ ref('stg_failures__records') }}
    where
        node_id is not null
        -- A failed part need not take its node down.
        and unit_name is null

),

accounting_files as (

    select * from {{ ref('stg_ops__files') }}
    where
        kind = 'sacct'
        and loaded_count > 0

),

reasons as (

    select * from {{ ref('int_node_reasons_classified') }}

),

-- Without accounting, failure records are the only source. A record without an end is open if it is the node's last and
-- other records have ends; otherwise the length of the outage is unknown. If other logs show the node out at that time
-- or later, they show its return, too.
recorded_failures as (

    select
        *,
        bool_or(ended_at is not null) over (partition by cluster_id) as has_ends,
        started_at = max(started_at) over (partition by cluster_id, node_id) as is_last
    from failure_records
    where cluster_id not in (select accounting_files.cluster_id from accounting_files)

),

-- A node that is out in inventory snapshots while neither node events nor the log show it out.
intervals as (

    select * from stated
    union all
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
            from stated
            where
                inventory_withdrawals.cluster_id = stated.cluster_id
                and inventory_withdrawals.node_id = stated.node_id
                and coalesce(stated.ended_at, {{ last_time() }}) > inventory_withdrawals.reason_at
                and coalesce(inventory_withdrawals.ended_at, {{ last_time() }}) > stated.started_at
        )
    union all
    select
        cluster_id,
        node_id,
        started_at,
        ended_at,
        cast(null as string) as state,
        cast(null as string) as state_flags,
        reason,
        cast(null as string) as reason_user,
        'failures' as source,
        source_path,
        source_line_number
    from recorded_failures
    where
        ended_at is not null
        or (
            has_ends
            and is_last
            and not exists (
                select 1
                from stated
                where
                    recorded_failures.cluster_id = stated.cluster_id
                    and recorded_failures.node_id = stated.node_id
                    and coalesce(stated.ended_at, {{ last_time() }}) >= recorded_failures.started_at
            )
        )

),

-- A node without inventory that Slurm switches on and off by itself is a cloud node. A provided machine boots and
-- answers: if nothing answered since the last one was switched off, there was none.
never_registered as (

    select
        intervals.cluster_id,
        intervals.node_id,
        intervals.started_at
    from intervals
    left join cloud_flags
        on
            intervals.cluster_id = cloud_flags.cluster_id
            and intervals.node_id = cloud_flags.node_id
    left join {{ ref('stg_slurmctld__events') }} as events
        on
            intervals.cluster_id = events.cluster_id
            and intervals.node_id = events.node_id
            and events.logged_at < intervals.started_at + interval 1 second
    where lower(intervals.reason) = 'resumetimeout reached'
    group by intervals.cluster_id, intervals.node_id, intervals.started_at
    having
        coalesce(
            bool_or(cloud_flags.has_flag), bool_or(events.kind in ('node_not_resumed', 'node_powered_down')), false
        )
        and coalesce(
            max(case when events.kind in ('node_rebooted', 'node_returned') then events.logged_at end)
            < max(case when events.kind = 'node_powered_down' then events.logged_at end),
            count(case when events.kind in ('node_rebooted', 'node_returned') then 1 end) = 0
        )

),

classified as (

    select
        intervals.*,
        reasons.code,
        reasons.co_category,
        coalesce(reasons.severity, 'info') as severity,
        coalesce(reasons.evidence_class, 'none') as evidence_class,
        case
            when never_registered.node_id is not null then 'capacity'
            -- A node that stops answering in a maintenance reservation was switched off.
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
    left join never_registered
        on
            intervals.cluster_id = never_registered.cluster_id
            and intervals.node_id = never_registered.node_id
            and intervals.started_at = never_registered.started_at

),

-- Slurm writes a new row even if only a flag of the state changes. A gap of a few seconds does not end an outage.
numbered as (

    {{ numbered_within_a_minute(
        'classified', ['cluster_id', 'node_id', 'failure_category'], 'part_number'
    ) | indent(4) }}

),

parts as (

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
        -- Do not count rows of the controller's log if the events export covers the outage.
        coalesce(nullif(count(case when source = 'sacctmgr' then 1 end), 0), count(*)) as interval_count,
        {{ first_by('source_path', 'started_at') }} as source_path,
        {{ first_by('source_line_number', 'started_at') }} as source_line_number
    from numbered
    group by cluster_id, node_id, failure_category, part_number

),

-- A reason in snapshots requests only the first outage after it, not later ones of the same reason.
asked_in_inventory as (

    select
        withdrawals.*,
        parts.failure_category,
        parts.part_number,
        parts.started_at
    from inventory_withdrawals as withdrawals
    left join parts
        on
            withdrawals.cluster_id = parts.cluster_id
            and withdrawals.node_id = parts.node_id
            and lower(withdrawals.reason) = lower(parts.reason)
            and coalesce(parts.ended_at, {{ last_time() }}) >= withdrawals.reason_at
            and coalesce(withdrawals.ended_at, {{ last_time() }}) > parts.started_at
    qualify
        row_number() over (
            partition by withdrawals.cluster_id, withdrawals.node_id, withdrawals.reason_at
            order by parts.started_at
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
    {{ is_no_fault('parts.failure_category') }} as is_planned,
    parts.code,
    parts.co_category,
    parts.severity,
    parts.evidence_class,
    parts.origin,
    case
        when withdrawals.kind = 'request' then least(withdrawals.changed_at, parts.started_at)
        when withdrawals.kind is null and inventory_requests.reason_at is not null
            then least(inventory_requests.reason_at, parts.started_at)
    end as requested_at,
    withdrawals.changed_at is not null as is_in_slurmctld_log,
    parts.source,
    parts.interval_count,
    parts.source_path,
    parts.source_line_number
from parts
-- Event rows have whole seconds, the log milliseconds: allow some tolerance on both sides.
left join service_changes as withdrawals
    on
        parts.cluster_id = withdrawals.cluster_id
        and parts.node_id = withdrawals.node_id
        and lower(parts.reason) = lower(withdrawals.reason)
        and withdrawals.is_withdrawal
        and withdrawals.changed_at <= parts.started_at + interval 2 second
        and coalesce(withdrawals.last_returned_at <= parts.started_at + interval 1 second, true)
        and coalesce(withdrawals.returned_at > parts.started_at + interval 1 second, true)
left join inventory_requests
    on
        parts.cluster_id = inventory_requests.cluster_id
        and parts.node_id = inventory_requests.node_id
        and parts.failure_category = inventory_requests.failure_category
        and parts.part_number = inventory_requests.part_number

union all

-- A drain requested while a job still runs has no row yet. The inventory has its reason and time.
select
    asked.cluster_id,
    asked.node_id,
    cast(null as timestamp) as started_at,
    asked.ended_at,
    cast(null as string) as state,
    asked.reason,
    asked.reason_user,
    coalesce(reasons.failure_category, 'unmapped') as failure_category,
    coalesce({{ is_no_fault('reasons.failure_category') }}, false) as is_planned,
    reasons.code,
    reasons.co_category,
    coalesce(reasons.severity, 'info') as severity,
    coalesce(reasons.evidence_class, 'none') as evidence_class,
    coalesce(reasons.origin, 'administrator') as origin,
    asked.reason_at as requested_at,
    false as is_in_slurmctld_log,
    'inventory' as source,
    0 as interval_count,
    asked.source_path,
    asked.source_line_number
from asked_in_inventory as asked
left join reasons
    on
        asked.cluster_id = reasons.cluster_id
        and lower(asked.reason) = reasons.reason_key
where
    asked.part_number is null
    -- Use every line of the log: a check that sets its reason again is one withdrawal with the time of its last line.
    and not exists (
        select 1
        from service_changes
        where
            service_changes.kind != 'return'
            and asked.cluster_id = service_changes.cluster_id
            and asked.node_id = service_changes.node_id
            and lower(asked.reason) = lower(service_changes.reason)
            and abs({{ seconds_between('service_changes.changed_at', 'asked.reason_at') }}) <= 2
    )
