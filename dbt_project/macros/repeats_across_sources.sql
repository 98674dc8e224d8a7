{#-
    CTEs that find events that repeat another: the bus message of an Xid 79, a result of a check that reads the kernel
    log, the state of an agent that also reported the event, a reason written by a health check. The last CTE,
    `repeats_across_sources`, has one row per repeating event. events: a CTE.
-#}
{% macro repeats_across_sources(events) -%}
-- A check that reads the kernel log repeats kernel messages since its last good result. An entry of an event log
-- repeats kernel messages of its own time.
checks_of_kernel_log as (

    select
        checks.cluster_id,
        checks.event_id,
        messages.event_id as duplicate_of_event_id,
        abs({{ seconds_between('messages.observed_at', 'checks.observed_at') }}) as distance_seconds
    from {{ events }} as checks
    inner join {{ events }} as messages
        on
            checks.cluster_id = messages.cluster_id
            and checks.node_id = messages.node_id
            and checks.code = messages.fault_code
            and messages.observed_at <= checks.observed_at + interval 60 second
            and messages.observed_at
            >= case
                when checks.check_type = 'event' then checks.observed_at
                else coalesce(checks.last_ok_at, checks.observed_at - interval 1 day)
            end - interval 60 second
    where
        checks.source = 'health_check'
        and messages.source = 'kernel'

),

-- An agent that reports an event also shows the resulting state: one fault, reported twice.
states_of_events as (

    select
        states.cluster_id,
        states.event_id,
        moments.event_id as duplicate_of_event_id,
        abs({{ seconds_between('moments.observed_at', 'states.observed_at') }}) as distance_seconds
    from {{ events }} as states
    inner join {{ events }} as moments
        on
            states.cluster_id = moments.cluster_id
            and states.node_id = moments.node_id
            and states.check_key = moments.check_key
            and states.failure_category = moments.failure_category
            and states.code is not distinct from moments.code
            and moments.observed_at <= states.observed_at + interval 60 second
            and moments.observed_at
            >= coalesce(states.last_ok_at, states.observed_at - interval 1 day) - interval 60 second
    where
        states.source = 'health_check'
        and states.check_type is distinct from 'event'
        and moments.source = 'health_check'
        and moments.check_type = 'event'
        and moments.event_id not in (select checks_of_kernel_log.event_id from checks_of_kernel_log)

),

repeats as (

    select * from checks_of_kernel_log
    union all
    select * from states_of_events

),

first_repeats as (

    select
        cluster_id,
        event_id,
        duplicate_of_event_id
    from repeats
    qualify
        row_number() over (
            partition by cluster_id, event_id order by distance_seconds, duplicate_of_event_id
        ) = 1

),

originals as (

    select events.*
    from {{ events }} as events
    left join first_repeats
        on
            events.cluster_id = first_repeats.cluster_id
            and events.event_id = first_repeats.event_id
    where
        first_repeats.event_id is null
        and events.evidence_class != 'none'
        and events.source in ('health_check', 'kernel')

),

-- A reason written by a health check repeats the check's fault: same category, not cleared at the time.
reasons_of_checks as (

    select
        reasons.cluster_id,
        reasons.event_id,
        originals.event_id as duplicate_of_event_id
    from {{ events }} as reasons
    inner join originals
        on
            reasons.cluster_id = originals.cluster_id
            and reasons.node_id = originals.node_id
            and reasons.failure_category = originals.failure_category
            and originals.observed_at <= reasons.observed_at + interval 60 second
            and originals.observed_at
            >= reasons.observed_at - case when originals.is_point_event then interval 1 hour else interval 1 day end
            and coalesce(originals.cleared_at, {{ last_time() }}) >= reasons.observed_at - interval 60 second
    where
        reasons.source in ('slurmctld', 'node_event')
        and reasons.origin = 'health_check'
    qualify
        row_number() over (
            partition by reasons.cluster_id, reasons.event_id
            order by
                originals.fault_code is distinct from reasons.code,
                abs({{ seconds_between('originals.observed_at', 'reasons.observed_at') }}),
                originals.event_id
        ) = 1

),

repeats_across_sources as (

    select * from first_repeats
    union all
    select * from reasons_of_checks

)
{%- endmacro %}
