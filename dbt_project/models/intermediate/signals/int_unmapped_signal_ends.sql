{%- set has_ended -%}
    is_terminal
        and started_at is not null
        and state in ('COMPLETED', 'NODE_FAIL', 'FAILED', 'REQUEUED')
{%- endset -%}

with

signals as (

    select * from {{ ref('int_unmapped_signals') }}

),

clusters as (

    select * from {{ ref('stg_config__clusters') }}

),

signal_quarter_hours as (

    select
        signals.cluster_id,
        signals.kind,
        signals.signal,
        signals.node_id,
        signals.first_at,
        signals.last_at,
        clusters.attribution_before_seconds,
        clusters.attribution_after_seconds,
        {{ unnest_integer_range(
            quarter_hour(
                'signals.first_at - '
                ~ seconds_interval('cast(clusters.attribution_after_seconds as bigint)')
            ),
            quarter_hour(
                'signals.last_at + '
                ~ seconds_interval('cast(clusters.attribution_before_seconds as bigint)')
            )
        ) }} as quarter_hour
    from signals
    inner join clusters on signals.cluster_id = clusters.cluster_id
    where signals.node_id is not null

),

end_nodes as (

    select
        cluster_id,
        attempt_id,
        state = 'COMPLETED' as is_completed,
        started_at,
        ended_at,
        {{ quarter_hour('ended_at') }} as quarter_hour,
        {{ unnest_list('node_ids') }} as node_id
    from {{ ref('int_attempts') }}
    where
        {{ has_ended }}

),

seen_before_ends as (

    select distinct
        end_nodes.cluster_id,
        signal_quarter_hours.kind,
        signal_quarter_hours.signal,
        end_nodes.attempt_id,
        end_nodes.is_completed
    from end_nodes
    inner join signal_quarter_hours
        on
            end_nodes.cluster_id = signal_quarter_hours.cluster_id
            and end_nodes.node_id = signal_quarter_hours.node_id
            and end_nodes.quarter_hour = signal_quarter_hours.quarter_hour
            and end_nodes.started_at <= signal_quarter_hours.last_at
            and end_nodes.ended_at - {{ seconds_interval('signal_quarter_hours.attribution_before_seconds') }}
            <= signal_quarter_hours.last_at
            and end_nodes.ended_at + {{ seconds_interval('signal_quarter_hours.attribution_after_seconds') }}
            >= signal_quarter_hours.first_at

),

counted as (

    select
        cluster_id,
        kind,
        signal,
        sum(case when is_completed then 0 else 1 end) as failed_end_count,
        sum(case when is_completed then 1 else 0 end) as completed_end_count
    from seen_before_ends
    group by cluster_id, kind, signal

),

totals as (

    select
        cluster_id,
        sum(case when state = 'COMPLETED' then 0 else 1 end) as failed_end_total,
        sum(case when state = 'COMPLETED' then 1 else 0 end) as completed_end_total
    from {{ ref('int_attempts') }}
    where
        {{ has_ended }}
    group by cluster_id

),

names as (

    select distinct
        cluster_id,
        kind,
        signal
    from signals

)

select
    names.cluster_id,
    names.kind,
    names.signal,
    cast(coalesce(counted.failed_end_count, 0) as bigint) as failed_end_count,
    cast(coalesce(totals.failed_end_total, 0) as bigint) as failed_end_total,
    cast(coalesce(counted.completed_end_count, 0) as bigint) as completed_end_count,
    cast(coalesce(totals.completed_end_total, 0) as bigint) as completed_end_total
from names
left join counted
    on
        names.cluster_id = counted.cluster_id
        and names.kind = counted.kind
        and names.signal = counted.signal
left join totals on names.cluster_id = totals.cluster_id
