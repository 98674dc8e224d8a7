with

events as (

    select * from {{ ref('int_health_events') }}
    -- Repeats count with the event that they repeat.
    where duplicate_of_event_id is null

),

reasons as (

    select reason from {{ ref('int_node_reason_events') }}
    where reason is not null
    union
    select reason from {{ ref('int_node_outage_parts') }}
    where reason is not null

),

unknown_lines as (

    select * from {{ ref('int_unknown_lines_counted') }}

),

failures as (

    select * from {{ ref('int_unit_failures') }}
    where
        reason is not null
        and failure_category is null

),

xids as (

    select * from {{ ref('xids') }}

),

site_xids as (

    select * from {{ ref('stg_config__rules') }}
    where kind = 'xid'

),

unmapped_checks as (

    select
        cluster_id,
        'check' as kind,
        lower(trim(check_name)) as signal,
        node_id,
        observed_at,
        event_id
    from events
    where
        source = 'health_check'
        and failure_category = 'unmapped'

),

shapes as (

    select
        {{ message_key('reason') }} as message_key,
        {{ without_variable_parts('reason') }} as shape
    from reasons

),

-- A reason with an Xid but without its number is identified by its text alone.
unmapped_reasons as (

    select
        events.cluster_id,
        'node_reason' as kind,
        shapes.shape as signal,
        events.node_id,
        events.observed_at,
        events.event_id
    from events
    inner join shapes on events.message_key = shapes.message_key
    where
        events.source in ('node_event', 'slurmctld')
        and (
            events.failure_category = 'unmapped' or (events.failure_category = 'unknown_xid' and events.code is null)
        )

),

codes_seen as (

    select
        cluster_id,
        node_id,
        observed_at,
        event_id,
        {{ unnest_list('codes') }} as code
    from events
    where
        source != 'kernel'
        or check_name = 'xid'

),

unknown_xids as (

    select
        codes_seen.cluster_id,
        'xid' as kind,
        cast(codes_seen.code as string) as signal,
        codes_seen.node_id,
        codes_seen.observed_at,
        codes_seen.event_id
    from codes_seen
    left join xids on codes_seen.code = xids.code
    left join site_xids
        on
            codes_seen.cluster_id = site_xids.cluster_id
            and codes_seen.code = site_xids.code
    where
        xids.code is null
        and site_xids.code is null

),

unmapped_events as (

    select * from unmapped_checks
    union all
    select * from unmapped_reasons
    union all
    select * from unknown_xids

)

select
    cluster_id,
    kind,
    signal,
    node_id,
    observed_at as first_at,
    observed_at as last_at,
    cast(1 as bigint) as event_count,
    event_id,
    -- An event has these values in its own row.
    cast(null as string) as example,
    cast(null as string) as source_path,
    cast(null as bigint) as source_line_number
from unmapped_events
union all
select
    cluster_id,
    'failure_record' as kind,
    {{ without_variable_parts('reason') }} as signal,
    node_id,
    started_at as first_at,
    started_at as last_at,
    cast(1 as bigint) as event_count,
    cast(null as string) as event_id,
    reason as example,
    source_path,
    source_line_number
from failures
union all
select
    cluster_id,
    'kernel' as kind,
    shape as signal,
    node_id,
    first_at,
    last_at,
    line_count as event_count,
    cast(null as string) as event_id,
    example,
    source_path,
    source_line_number
from unknown_lines
