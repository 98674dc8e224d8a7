with

signals as (

    select * from {{ ref('int_unmapped_signals') }}

),

events as (

    select * from {{ ref('fct_health_events') }}

),

tickets as (

    select * from {{ ref('fct_tickets') }}

),

unknown_actions as (

    select * from {{ ref('int_repair_actions') }}
    where repair_action is null

),

failures as (

    select * from {{ ref('int_unit_failures') }}

),

repairs as (

    select
        cluster_id,
        node_id,
        opened_at,
        action,
        source_path,
        source_line_number
    from tickets
    union all
    select
        cluster_id,
        node_id,
        started_at as opened_at,
        action,
        source_path,
        source_line_number
    from failures

),

ends as (

    select * from {{ ref('int_unmapped_signal_ends') }}

),

ratios as (

    select * from {{ fitted_table('int_end_ratios_bounded') }}

),

sightings as (

    select
        signals.cluster_id,
        signals.kind,
        signals.signal,
        signals.node_id,
        signals.first_at,
        signals.last_at,
        signals.event_count,
        coalesce(events.message, signals.example) as example,
        coalesce(events.source_path, signals.source_path) as source_path,
        coalesce(events.source_line_number, signals.source_line_number) as source_line_number
    from signals
    left join events
        on
            signals.cluster_id = events.cluster_id
            and signals.event_id = events.event_id

    union all

    select
        repairs.cluster_id,
        'repair_action' as kind,
        {{ without_variable_parts('repairs.action') }} as signal,
        repairs.node_id,
        repairs.opened_at as first_at,
        repairs.opened_at as last_at,
        1 as event_count,
        repairs.action as example,
        repairs.source_path,
        repairs.source_line_number
    from repairs
    inner join unknown_actions
        on
            repairs.cluster_id = unknown_actions.cluster_id
            and lower(trim(repairs.action)) = unknown_actions.text_key

),

ranked as (

    select
        *,
        row_number() over (
            partition by cluster_id, kind, signal
            order by first_at, source_path, source_line_number
        ) as place
    from sightings

),

counted as (

    select
        cluster_id,
        kind,
        signal,
        cast(sum(event_count) as bigint) as event_count,
        cast(count(distinct node_id) as bigint) as node_count,
        min(first_at) as first_seen_at,
        max(last_at) as last_seen_at,
        max(case when place = 1 then example end) as example,
        max(case when place = 1 then source_path end) as example_path,
        max(case when place = 1 then source_line_number end) as example_line_number
    from ranked
    group by cluster_id, kind, signal

)

select
    counted.cluster_id,
    counted.kind,
    counted.signal,
    counted.event_count,
    counted.node_count,
    counted.first_seen_at,
    counted.last_seen_at,
    counted.example,
    counted.example_path,
    counted.example_line_number,
    ends.failed_end_count,
    ends.failed_end_count / nullif(ends.failed_end_total, 0) as failed_end_ratio,
    ends.completed_end_count,
    ends.completed_end_count / nullif(ends.completed_end_total, 0) as completed_end_ratio,
    ratios.ratio,
    ratios.ratio_low,
    ratios.ratio_high
from counted
left join ends
    on
        counted.cluster_id = ends.cluster_id
        and counted.kind = ends.kind
        and counted.signal = ends.signal
left join ratios
    on
        ends.failed_end_count = ratios.failed_end_count
        and ends.failed_end_total = ratios.failed_end_total
        and ends.completed_end_count = ratios.completed_end_count
        and ends.completed_end_total = ratios.completed_end_total
