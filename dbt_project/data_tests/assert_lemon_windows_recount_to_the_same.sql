-- A window's running totals equal a plain count over its days. Logs from before accounting count as far back as the
-- configured window.
{{ config(tags=['judged_with_the_code'], meta={'dagster': {'ref': {'name': 'agg_lemon_signals'}}}) }}

with

signals as (

    select
        signals.*,
        settings.lemon_window_days
    from {{ ref('agg_lemon_signals') }} as signals
    inner join {{ ref('dim_clusters') }} as clusters
        on
            signals.cluster_id = clusters.cluster_id
            and signals.window_end_date = cast(clusters.study_to_at as date)
    inner join {{ ref('stg_config__clusters') }} as settings on signals.cluster_id = settings.cluster_id
    where clusters.has_accounting

),

tickets as (

    select
        signals.cluster_id,
        signals.node_id,
        count(*) as ticket_count
    from signals
    inner join {{ ref('fct_tickets') }} as tickets
        on
            signals.cluster_id = tickets.cluster_id
            and signals.node_id = tickets.node_id
            and cast(tickets.opened_at as date) > signals.window_end_date - signals.lemon_window_days
            and cast(tickets.opened_at as date) <= signals.window_end_date
    group by signals.cluster_id, signals.node_id

),

incidents as (

    select
        signals.cluster_id,
        signals.node_id,
        count(*) as incident_count
    from signals
    inner join {{ ref('fct_incident_suspects') }} as suspects
        on
            signals.cluster_id = suspects.cluster_id
            and signals.node_id = suspects.node_id
            and cast(suspects.failed_at as date) > signals.window_end_date - signals.lemon_window_days
            and cast(suspects.failed_at as date) <= signals.window_end_date
    where suspects.is_known
    group by signals.cluster_id, signals.node_id

),

events as (

    select
        cluster_id,
        node_id,
        observed_at,
        {{ unnest_list('codes') }} as code
    from {{ ref('fct_health_events') }}
    where check_name != 'sxid'

),

codes as (

    select
        signals.cluster_id,
        signals.node_id,
        count(distinct events.code) as code_count
    from signals
    inner join events
        on
            signals.cluster_id = events.cluster_id
            and signals.node_id = events.node_id
            and cast(events.observed_at as date) > signals.window_end_date - signals.lemon_window_days
            and cast(events.observed_at as date) <= signals.window_end_date
    group by signals.cluster_id, signals.node_id

),

jobs as (

    select
        signals.cluster_id,
        signals.node_id,
        count(distinct exclusions.job_id_raw) as job_count
    from signals
    inner join {{ ref('fct_job_exclusions') }} as exclusions
        on
            signals.cluster_id = exclusions.cluster_id
            and signals.node_id = exclusions.node_id
            and cast(exclusions.last_seen_at as date) > signals.window_end_date - signals.lemon_window_days
            and cast(exclusions.first_seen_at as date) <= signals.window_end_date
    group by signals.cluster_id, signals.node_id

),

uses as (

    select
        signals.cluster_id,
        signals.node_id,
        sum(node_days.in_use_hours) / 24 as in_use_node_days
    from signals
    inner join {{ ref('fct_node_days') }} as node_days
        on
            signals.cluster_id = node_days.cluster_id
            and signals.node_id = node_days.node_id
            and signals.window_end_date - signals.lemon_window_days < node_days.day_date
            and signals.window_end_date >= node_days.day_date
    group by signals.cluster_id, signals.node_id

)

select
    signals.cluster_id,
    signals.node_id,
    signals.tickets,
    tickets.ticket_count,
    signals.multi_node_node_fails,
    signals.single_node_node_fails,
    incidents.incident_count,
    signals.xid_cnt,
    codes.code_count,
    signals.excl_jobid_count,
    jobs.job_count,
    signals.in_use_node_days,
    uses.in_use_node_days as used_node_days
from signals
left join tickets
    on
        signals.cluster_id = tickets.cluster_id
        and signals.node_id = tickets.node_id
left join incidents
    on
        signals.cluster_id = incidents.cluster_id
        and signals.node_id = incidents.node_id
left join codes
    on
        signals.cluster_id = codes.cluster_id
        and signals.node_id = codes.node_id
left join jobs
    on
        signals.cluster_id = jobs.cluster_id
        and signals.node_id = jobs.node_id
left join uses
    on
        signals.cluster_id = uses.cluster_id
        and signals.node_id = uses.node_id
where
    signals.tickets != coalesce(tickets.ticket_count, 0)
    or signals.multi_node_node_fails + signals.single_node_node_fails != coalesce(incidents.incident_count, 0)
    or signals.xid_cnt != coalesce(codes.code_count, 0)
    or signals.excl_jobid_count != coalesce(jobs.job_count, 0)
    or abs(signals.in_use_node_days - coalesce(uses.in_use_node_days, 0)) > 1e-3
