with

events as (

    select * from {{ ref('int_health_events') }}

),

duplicates as (

    select * from {{ ref('int_health_event_duplicates') }}

),

ranked as (

    select
        events.*,
        duplicates.duplicate_of_event_id,
        -- What repeats another event supports it and proves nothing of its own.
        case
            when duplicates.event_id is null then events.evidence_class
            else {{ cap_at_supporting('events.evidence_class') }}
        end as own_evidence_class
    from events
    left join duplicates
        on
            events.cluster_id = duplicates.cluster_id
            and events.event_id = duplicates.event_id

)

select
    cluster_id,
    event_id,
    node_id,
    observed_at,
    source,
    check_name,
    check_type,
    subject,
    code,
    codes,
    failure_category,
    co_category,
    severity,
    own_evidence_class as evidence_class,
    own_evidence_class = 'A' as is_evidence,
    is_point_event,
    last_ok_at,
    cleared_at,
    result,
    origin,
    pci_address,
    job_id_raw,
    duplicate_of_event_id,
    duplicate_of_event_id is not null as is_repeat,
    message,
    source_path,
    source_line_number,
    clock_offset_seconds
from ranked
