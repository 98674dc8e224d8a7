with

events as (

    select * from {{ ref('int_health_events') }}

),

texts as (

    select message from {{ ref('stg_health__checks') }}
    where
        node_id is not null
        and result in ('WARN', 'CRITICAL')
    union all
    select message from {{ ref('stg_kernel__messages') }}
    where node_id is not null
    union all
    select reason as message from {{ ref('int_node_reason_events') }}
    union all
    select reason as message from {{ ref('int_node_outage_parts') }}

),

keyed as (

    select
        message,
        {{ message_key('message') }} as message_key
    from texts

),

-- The same texts repeat often, and many are no onset.
messages as (

    select
        message_key,
        any_value(message) as message
    from keyed
    where message_key in (select events.message_key from events)
    group by message_key

),

files as (

    select
        path as source_path,
        {{ file_key('path') }} as file_key
    from {{ ref('stg_ops__files') }}

)

select
    events.cluster_id,
    events.event_id,
    events.node_id,
    events.observed_at,
    events.source,
    events.check_name,
    events.check_type,
    events.subject,
    events.code,
    events.codes,
    events.failure_category,
    events.co_category,
    events.severity,
    events.evidence_class,
    events.is_evidence,
    events.is_point_event,
    events.last_ok_at,
    events.cleared_at,
    events.result,
    events.origin,
    events.pci_address,
    events.job_id_raw,
    events.duplicate_of_event_id,
    events.is_repeat,
    messages.message,
    files.source_path,
    events.source_line_number,
    events.clock_offset_seconds
from events
left join messages on events.message_key = messages.message_key
left join files on events.file_key = files.file_key
