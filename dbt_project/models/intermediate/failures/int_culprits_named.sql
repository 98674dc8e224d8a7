with

het_failures as (

    select * from {{ ref('int_het_failures_joined') }}

),

slurmctld_events as (

    select * from {{ ref('stg_slurmctld__events') }}
    where
        kind = 'prolog_failure'
        or (kind = 'job_node_failure' and node_id is not null)

),

node_events as (

    select
        *,
        {{ time_slot('started_at', 5) }} as slot
    from {{ ref('stg_sacctmgr__node_events') }}

),

-- All attempts for which accounting, the log or a node's row can name a node.
suspects as (

    select * from {{ ref('int_attempts') }}
    where
        is_terminal
        and {{ may_be_failed('state') }}
        and (
            state in ('NODE_FAIL', 'BOOT_FAIL')
            or (state = 'REQUEUED' and runtime_seconds <= 10)
            or failed_node_id is not null
            or het_job_id is not null
            or (cluster_id, job_id_raw) in (
                select
                    slurmctld_events.cluster_id,
                    slurmctld_events.job_id_raw
                from slurmctld_events
            )
        )

),

named_in_accounting as (

    select
        cluster_id,
        attempt_id,
        failed_node_id as node_id,
        'FailedNode' as named_by,
        1 as source_order,
        ended_at as named_at
    from suspects
    where failed_node_id is not null

),

named_in_log as (

    {{ named_in_controller_log('suspects', 'slurmctld_events') | indent(4) }}

),

suspect_nodes as (

    select
        cluster_id,
        attempt_id,
        state,
        ended_at,
        {{ unnest_list('node_ids') }} as node_id
    from suspects
    where
        state in ('NODE_FAIL', 'BOOT_FAIL')
        or (state = 'REQUEUED' and runtime_seconds <= 10)

),

-- Outages within five seconds begin in the same slot or in an adjacent one.
suspect_slots as (

    select
        *,
        {{ unnest_integer_range(time_slot('ended_at', 5) ~ ' - 1', time_slot('ended_at', 5) ~ ' + 1') }} as slot
    from suspect_nodes

),

-- Without the log, a node that went out of service in the second in which the attempt ended is the culprit.
named_by_node_event as (

    select
        suspect_slots.cluster_id,
        suspect_slots.attempt_id,
        suspect_slots.node_id,
        case when suspect_slots.state = 'REQUEUED' then 'prolog_error' else 'node_down' end as named_by,
        3 as source_order,
        node_events.started_at as named_at
    from suspect_slots
    inner join node_events
        on
            suspect_slots.cluster_id = node_events.cluster_id
            and suspect_slots.node_id = node_events.node_id
            and suspect_slots.slot = node_events.slot
            and abs({{ seconds_between('suspect_slots.ended_at', 'node_events.started_at') }}) <= 5
    where
        (suspect_slots.state != 'REQUEUED' and node_events.state = 'DOWN')
        or (
            suspect_slots.state = 'REQUEUED'
            and {{ regex_matches('lower(node_events.reason)', "'^prolog (error|or job env)'") }}
        )

),

named as (

    select * from named_in_accounting
    union all
    select * from named_in_log
    union all
    select * from named_by_node_event

),

named_of_jobs as (

    select * from named

    union all

    -- The culprit of one component of a heterogeneous job is the culprit of components that ended with it.
    select
        named.cluster_id,
        het_failures.attempt_id,
        named.node_id,
        named.named_by,
        named.source_order,
        named.named_at
    from named
    inner join het_failures
        on
            named.cluster_id = het_failures.cluster_id
            and named.attempt_id = het_failures.partner_attempt_id

),

-- Only a node of the job can have failed it. Another name was misread or is another spelling.
named_of_own_nodes as (

    select
        named_of_jobs.*,
        suspects.ended_at,
        array_contains(suspects.node_ids, named_of_jobs.node_id) as is_own
    from named_of_jobs
    inner join suspects
        on
            named_of_jobs.cluster_id = suspects.cluster_id
            and named_of_jobs.attempt_id = suspects.attempt_id
    where
        array_contains(suspects.node_ids, named_of_jobs.node_id)
        or exists (
            select 1
            from het_failures
            where
                named_of_jobs.cluster_id = het_failures.cluster_id
                and named_of_jobs.attempt_id = het_failures.attempt_id
                and array_contains(het_failures.partner_node_ids, named_of_jobs.node_id)
        )

),

named_once as (

    select
        cluster_id,
        attempt_id,
        node_id,
        {{ first_by('named_by', '(source_order, named_by)') }} as named_by,
        bool_or(named_by in ('prolog_failure', 'prolog_error')) as is_prolog_failure,
        bool_or(is_own) as is_own,
        min(source_order) as source_order,
        min(named_at) as named_at,
        min(ended_at) as ended_at
    from named_of_own_nodes
    group by cluster_id, attempt_id, node_id

)

select
    cluster_id,
    attempt_id,
    node_id,
    ended_at,
    named_by,
    is_prolog_failure,
    row_number() over (
        partition by cluster_id, attempt_id
        order by source_order, not is_own, named_at, node_id
    ) as culprit_rank
from named_once
qualify
    source_order = min(source_order) over (partition by cluster_id, attempt_id)
    and is_own = bool_or(is_own) over (partition by cluster_id, attempt_id, source_order)
