with

events as (

    select * from {{ ref('int_health_events') }}

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
    evidence_class,
    is_evidence,
    is_point_event,
    last_ok_at,
    cleared_at,
    result,
    origin,
    pci_address,
    job_id_raw,
    duplicate_of_event_id,
    is_repeat,
    message,
    source_path,
    source_line_number,
    clock_offset_seconds
from events
