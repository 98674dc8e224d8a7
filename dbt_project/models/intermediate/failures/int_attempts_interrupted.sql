with

attempts as (

    select * from {{ ref('int_attempts') }}
    where
        is_terminal
        and (
            {{ may_be_failed('state') }}
            or (state = 'CANCELLED' and cancelled_by_uid = 0 and started_at is not null)
        )

),

het_failures as (

    select * from {{ ref('int_het_failures_joined') }}

),

culprits as (

    select * from {{ ref('int_culprits_named') }}

),

evidence as (

    select * from {{ ref('int_attempt_end_evidence') }}
    where
        is_in_window
        and not is_control

),

outages as (

    -- A drain takes effect when the last job on the node has ended, so it ends no job.
    select
        *,
        case
            when is_planned and failure_category = 'capacity' then 'capacity'
            when is_planned then 'planned'
        end as end_reason
    from {{ ref('int_node_outages') }}
    where
        is_planned
        or not coalesce({{ regex_matches('state', "'^(DRAIN|DRNG)'") }}, false)

),

evidence_counts as (

    select
        cluster_id,
        attempt_id,
        count(*) as evidence_count
    from evidence
    group by cluster_id, attempt_id

),

named as (

    select
        cluster_id,
        attempt_id,
        max(case when culprit_rank = 1 then node_id end) as node_id,
        bool_or(is_prolog_failure) as is_prolog_failure
    from culprits
    group by cluster_id, attempt_id

),

components as (

    select distinct
        cluster_id,
        attempt_id
    from het_failures

),

explained as (

    select
        attempts.cluster_id,
        attempts.attempt_id,
        attempts.job_key,
        attempts.user_name,
        attempts.account,
        attempts.partition,
        attempts.qos,
        attempts.state,
        attempts.ended_at,
        attempts.runtime_seconds,
        attempts.node_ids,
        attempts.node_count,
        attempts.gpu_count,
        coalesce(evidence_counts.evidence_count, 0) as evidence_count,
        named.attempt_id is not null as is_culprit_named,
        coalesce(named.is_prolog_failure, false) as is_prolog_failure,
        coalesce(
            named.node_id,
            case
                when attempts.node_count = 1 and components.attempt_id is null
                    then {{ first_item('attempts.node_ids') }}
            end
        ) as culprit_node_id
    from attempts
    left join evidence_counts
        on
            attempts.cluster_id = evidence_counts.cluster_id
            and attempts.attempt_id = evidence_counts.attempt_id
    left join named
        on
            attempts.cluster_id = named.cluster_id
            and attempts.attempt_id = named.attempt_id
    left join components
        on
            attempts.cluster_id = components.cluster_id
            and attempts.attempt_id = components.attempt_id
    -- No other attempt can be a failure or planned. Most FAILED attempts end here.
    where
        attempts.state != 'FAILED'
        or evidence_counts.evidence_count > 0
        or named.is_prolog_failure

),

-- If Slurm names the node that ended the attempt, outages of the others do not matter. A requeued attempt has a named
-- node if its prolog failed. Root cancels jobs that still run on a node that drains for planned work.
nodes_of_ends as (

    select
        explained.cluster_id,
        explained.attempt_id,
        explained.state,
        explained.ended_at,
        culprits.node_id
    from explained
    inner join culprits
        on
            explained.cluster_id = culprits.cluster_id
            and explained.attempt_id = culprits.attempt_id
    where
        explained.state in ('NODE_FAIL', 'BOOT_FAIL')
        and explained.evidence_count = 0

    union all

    select
        cluster_id,
        attempt_id,
        state,
        ended_at,
        {{ unnest_list('node_ids') }} as node_id
    from explained
    where
        state in ('NODE_FAIL', 'BOOT_FAIL', 'REQUEUED', 'CANCELLED')
        and evidence_count = 0
        and not is_culprit_named

),

-- A machine that a cloud could not provide never booted. A machine that does not boot after planned work has a fault.
possible_ends as (

    select
        *,
        {{ unnest_list(
            "case when state = 'BOOT_FAIL' then " ~ list_literal(["'capacity'"]) ~ " else "
            ~ list_literal(["'planned'", "'capacity'"]) ~ " end"
        ) }} as end_reason
    from nodes_of_ends

),

-- Taking a node down ends its jobs within five seconds: in the same slot or in an adjacent one.
begun_with_ends as (

    select
        ends.cluster_id,
        ends.attempt_id,
        outages.end_reason
    from (
        select
            possible_ends.*,
            {{ unnest_integer_range(
                time_slot('possible_ends.ended_at', 5) ~ ' - 1', time_slot('possible_ends.ended_at', 5) ~ ' + 1'
            ) }} as slot
        from possible_ends
    ) as ends
    inner join outages
        on
            ends.cluster_id = outages.cluster_id
            and ends.node_id = outages.node_id
            and ends.end_reason = coalesce(outages.end_reason, ends.end_reason)
            and ends.slot = {{ time_slot('outages.started_at', 5) }}
            and ends.ended_at + interval 5 second >= outages.started_at
            and ends.ended_at - interval 5 second <= outages.started_at

),

-- On a node that drains for planned work, a job may run until the work begins.
planned_outages as (

    select
        cluster_id,
        node_id,
        end_reason,
        started_at,
        max(coalesce(ended_at, {{ last_time() }})) over (
            partition by cluster_id, node_id, end_reason
            order by started_at
        ) as planned_until
    from outages
    where is_planned

),

ends_with_plans as (

    {{ asof_left_join(
        'possible_ends', 'planned_outages', ['cluster_id', 'node_id', 'end_reason'],
        'possible_ends.ended_at + interval 5 second', 'started_at', 'planned_until'
    ) | indent(4) }}

),

-- Then an end without evidence of a fault is due to the work: a node switched off leaves NODE_FAIL.
planned_ends as (

    select
        cluster_id,
        attempt_id,
        min(end_reason) as end_reason
    from (
        select * from begun_with_ends
        union all
        select
            ends_with_plans.cluster_id,
            ends_with_plans.attempt_id,
            ends_with_plans.end_reason
        from ends_with_plans
        where ends_with_plans.ended_at <= ends_with_plans.planned_until
    ) as ends_of_outages
    group by cluster_id, attempt_id
    having bool_and(end_reason is not null)

)

select
    explained.*,
    planned_ends.end_reason,
    planned_ends.attempt_id is not null as is_planned
from explained
left join planned_ends
    on
        explained.cluster_id = planned_ends.cluster_id
        and explained.attempt_id = planned_ends.attempt_id
where
    planned_ends.attempt_id is not null
    or explained.state in ('NODE_FAIL', 'BOOT_FAIL')
    or explained.evidence_count > 0
    or explained.is_prolog_failure
