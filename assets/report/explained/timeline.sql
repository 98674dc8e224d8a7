-- The history of a node, the latest entry first. One row per node and entry.
with asked as ({{ nodes }}),

entries as (
    select
        asked.*, failures.failed_at as observed_at, cast(null as timestamp) as until_at, 'failed job' as kind,
        concat(
            attempts.job_id, ' ', attempts.state, ' with ', coalesce(cast(attempts.gpu_count as varchar), 'unknown'),
            ' GPUs, probability ', cast(round(100 * failures.posterior_probability) as integer), '%'
        ) as message,
        failures.failure_category, attempts.source_path, attempts.source_line_number
    from asked
    inner join marts.fct_failures as failures
        on asked.cluster_id = failures.cluster_id and asked.node_id = failures.culprit_node_id
    inner join marts.fct_attempts as attempts
        on failures.cluster_id = attempts.cluster_id and failures.attempt_id = attempts.attempt_id
    union all
    select
        asked.*, outages.started_at, outages.ended_at,
        case
            when outages.failure_category = 'capacity' then 'no machine'
            when outages.is_planned then 'planned outage'
            else 'outage'
        end,
        concat_ws(': ', outages.state, outages.reason),
        outages.failure_category, outages.source_path, outages.source_line_number
    from asked
    inner join marts.fct_node_outages as outages using (cluster_id, node_id)
    union all
    select
        asked.*, events.observed_at, events.cleared_at,
        case when events.check_name = 'boot' then 'boot' else replace(events.source, '_', ' ') end,
        case
            when events.check_name = 'boot' then split_part(events.message, ' (', 1)
            else concat_ws(': ', events.check_name, events.message)
        end,
        case when events.check_name != 'boot' then events.failure_category end,
        events.source_path, events.source_line_number
    from asked
    inner join marts.fct_health_events as events using (cluster_id, node_id)
    where not events.is_repeat and events.check_name != 'node reason'
    union all
    select
        asked.*, tickets.opened_at, tickets.closed_at, 'ticket',
        concat_ws(': ', tickets.ticket_id, tickets.component, tickets.action, tickets.summary),
        tickets.failure_category, tickets.source_path, tickets.source_line_number
    from asked
    inner join marts.fct_tickets as tickets using (cluster_id, node_id)
    union all
    select
        asked.*, failures.started_at, failures.ended_at, 'recorded failure',
        concat_ws(': ', failures.unit_name, failures.cause, failures.cause_detail),
        failures.failure_category, failures.source_path, failures.source_line_number
    from asked
    inner join marts.fct_unit_failures as failures using (cluster_id, node_id)
    union all
    select asked.*, versions.first_seen_at, null, 'version', concat_ws(' ', component, version), null, null, null
    from asked
    inner join marts.dim_node_versions as versions using (cluster_id, node_id)
)

select * replace (left(message, 160) as message)
from entries
{% if limit %}
qualify row_number() over (partition by cluster_id, node_id order by observed_at desc, kind, message) <= {{ limit }}
{% endif %}
order by cluster_id, node_id, observed_at desc, kind, message
