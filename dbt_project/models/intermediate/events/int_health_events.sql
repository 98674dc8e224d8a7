with

onsets as (

    select * from {{ ref('int_health_onsets') }}

),

kernel_events as (

    select * from {{ ref('int_kernel_events') }}

),

logged_reasons as (

    select * from {{ ref('int_node_reason_events') }}

),

outage_parts as (

    select * from {{ ref('int_node_outage_parts') }}
    where
        not is_in_slurmctld_log
        and source not in ('slurmctld', 'failures')

),

clocks as (

    select * from {{ ref('int_node_clock_offsets') }}
    where corrected_seconds != 0

),

from_checks as (

    select
        cluster_id,
        {{ content_id([
            'cluster_id', 'node_id', "'health_check'", 'check_key', 'subject', 'symptom', 'observed_at'
        ]) }} as event_id,
        node_id,
        true as is_by_node_clock,
        observed_at,
        'health_check' as source,
        check_name,
        check_key,
        check_type,
        subject,
        code,
        codes,
        code as fault_code,
        failure_category,
        co_category,
        severity,
        evidence_class,
        result,
        coalesce(check_type in ('prolog', 'epilog', 'event'), false) as is_point_event,
        last_ok_at,
        cleared_at,
        'health_check' as origin,
        cast(null as string) as pci_address,
        job_id_raw,
        message_key,
        file_key,
        source_line_number
    from onsets

),

from_kernel as (

    select
        cluster_id,
        event_id,
        node_id,
        true as is_by_node_clock,
        occurred_at as observed_at,
        'kernel' as source,
        kind as check_name,
        kind as check_key,
        cast(null as string) as check_type,
        cast(null as string) as subject,
        code,
        case when code is null then {{ empty_integer_list() }} else {{ list_literal(['code']) }} end as codes,
        -- The three lines without a number mean the same as Xid 79.
        case kind when 'xid' then code when 'fell_off_bus' then 79 end as fault_code,
        failure_category,
        co_category,
        severity,
        evidence_class,
        cast(null as string) as result,
        true as is_point_event,
        cast(null as timestamp) as last_ok_at,
        cast(null as timestamp) as cleared_at,
        'kernel' as origin,
        pci_address,
        cast(null as bigint) as job_id_raw,
        message_key,
        file_key,
        source_line_number
    from kernel_events

),

-- A drained node's row begins when its last job has ended: without the time of the request, it cannot explain that end.
-- A draining node that still runs a job has a request, but no row yet.
outage_reasons as (

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
    from outage_parts

),

reason_events as (

    select * from logged_reasons
    union all
    select * from outage_reasons

),

from_reasons as (

    select
        cluster_id,
        {{ content_id([
            'cluster_id', 'node_id', 'source', "'node reason'", 'reason', 'observed_at'
        ]) }} as event_id,
        node_id,
        false as is_by_node_clock,
        observed_at,
        source,
        'node reason' as check_name,
        'node reason' as check_key,
        cast(null as string) as check_type,
        cast(null as string) as subject,
        code,
        case when code is null then {{ empty_integer_list() }} else {{ list_literal(['code']) }} end as codes,
        code as fault_code,
        failure_category,
        co_category,
        severity,
        evidence_class,
        cast(null as string) as result,
        true as is_point_event,
        cast(null as timestamp) as last_ok_at,
        cast(null as timestamp) as cleared_at,
        origin,
        cast(null as string) as pci_address,
        job_id_raw,
        {{ message_key('reason') }} as message_key,
        {{ file_key('source_path') }} as file_key,
        source_line_number
    from reason_events

),

symptoms as (

    select * from from_checks
    union all
    select * from from_kernel
    union all
    select * from from_reasons

),

with_clocks as (

    select
        symptoms.*,
        coalesce(clocks.corrected_seconds, 0) as clock_offset_seconds
    from symptoms
    left join clocks
        on
            symptoms.cluster_id = clocks.cluster_id
            and symptoms.node_id = clocks.node_id
            and symptoms.is_by_node_clock
            and (clocks.from_at is null or symptoms.observed_at >= clocks.from_at)
            and (clocks.to_at is null or symptoms.observed_at < clocks.to_at)

),

events as (

    select
        {{ exclude_columns('observed_at, last_ok_at, cleared_at, is_by_node_clock') }},
        observed_at - {{ seconds_interval('clock_offset_seconds') }} as observed_at,
        last_ok_at - {{ seconds_interval('clock_offset_seconds') }} as last_ok_at,
        cleared_at - {{ seconds_interval('clock_offset_seconds') }} as cleared_at
    from with_clocks

),

{{ repeats_across_sources('events') }},

judged as (

    select
        events.*,
        repeats_across_sources.duplicate_of_event_id,
        -- A repeat supports the other event and proves nothing itself.
        case
            when repeats_across_sources.event_id is null then events.evidence_class
            else {{ cap_at_supporting('events.evidence_class') }}
        end as own_evidence_class
    from events
    left join repeats_across_sources
        on
            events.cluster_id = repeats_across_sources.cluster_id
            and events.event_id = repeats_across_sources.event_id

)

select
    {{ exclude_columns('fault_code, evidence_class, own_evidence_class') }},
    own_evidence_class as evidence_class,
    own_evidence_class = 'A' as is_evidence,
    duplicate_of_event_id is not null as is_repeat
from judged
