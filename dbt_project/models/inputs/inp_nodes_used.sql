with windows as (
    select
        cluster_id,
        window_end_date,
        rate_start_date,
        thresholds
    from {{ ref('inp_lemon_windows_chosen') }}
),

nodes as (
    select
        cluster_id,
        node_id
    from {{ ref('dim_nodes') }}
),

uses as (
    select
        node_days.cluster_id,
        node_days.node_id,
        {{ exact_sum('3600 * node_days.study_hours', 6) }} / 86400 as in_use_node_days,
        {{ exact_sum('if(sight.kinds > 0, 3600 * node_days.study_hours, null)', 6) }} / 86400 as seen_node_days
    from {{ ref('fct_node_days') }} as node_days
    inner join windows using (cluster_id)
    left join {{ ref('inp_node_days_seen') }} as sight using (cluster_id, node_id, day_date)
    where node_days.day_date between windows.rate_start_date and windows.window_end_date
    group by node_days.cluster_id, node_days.node_id
),

-- An incident costs at most half the checkpoint interval.
periods as (
    select
        windows.cluster_id,
        30 * clusters.checkpoint_minutes as most_seconds,
        greatest(clusters.study_from_at, cast(windows.rate_start_date as timestamp)) as from_at,
        least(clusters.study_to_at, cast(windows.window_end_date as timestamp) + interval 1 day) as to_at
    from windows
    inner join {{ ref('dim_clusters') }} as clusters using (cluster_id)
),

lengths as (
    select
        periods.cluster_id,
        nullif(greatest(
            any_value(epoch(periods.to_at) - epoch(periods.from_at))
            - coalesce(sum(
                epoch(least(gaps.to_at, periods.to_at)) - epoch(greatest(gaps.from_at, periods.from_at))
            ) filter (where gaps.cluster_id is not null), 0),
            0
        ), 0) / 86400 as days
    from periods
    left join {{ ref('dim_study_gaps') }} as gaps
        on
            periods.cluster_id = gaps.cluster_id
            and periods.from_at < gaps.to_at
            and periods.to_at > gaps.from_at
    group by periods.cluster_id
),

-- Runs of attempts in these days, by their runtime at the start and at the end.
runs as (
    select
        attempts.cluster_id,
        attempts.attempt_id,
        attempts.gpu_count,
        attempts.node_count,
        periods.most_seconds,
        attempts.exposure_seconds / (attempts.exit_seconds - attempts.entry_seconds) as seen_ratio,
        attempts.entry_seconds
        + (attempts.exit_seconds - attempts.entry_seconds)
        * greatest(epoch(periods.from_at) - epoch(attempts.seen_from_at), 0)
        / (epoch(attempts.seen_to_at) - epoch(attempts.seen_from_at)) as from_seconds,
        attempts.exit_seconds as to_seconds
    from {{ ref('fct_attempt_exposures') }} as attempts
    inner join periods using (cluster_id)
    where
        attempts.exposure_seconds > 0
        and attempts.node_count > 0
        and attempts.seen_to_at > attempts.seen_from_at
        and attempts.seen_to_at > periods.from_at
),

-- An incident at runtime t costs min(t, most) per GPU. The mean over t is the integral over the time.
run_losses as (
    select
        cluster_id,
        attempt_id,
        seen_ratio * (to_seconds - from_seconds) as seconds,
        if(gpu_count is null, null, seconds) as known_seconds,
        gpu_count * seconds / 3600 as gpu_hours,
        gpu_hours / node_count as node_gpu_hours,
        gpu_count * seen_ratio * (
            power(least(to_seconds, most_seconds), 2) / 2 + most_seconds * greatest(to_seconds - most_seconds, 0)
            - power(least(from_seconds, most_seconds), 2) / 2 - most_seconds * greatest(from_seconds - most_seconds, 0)
        ) / 3600 as lost_gpu_hours_seconds
    from runs
),

losses as (
    select
        attempt_nodes.cluster_id,
        attempt_nodes.node_id,
        {{ exact_sum('run_losses.seconds', 9) }} as seconds,
        {{ exact_sum('run_losses.known_seconds', 9) }} as known_seconds,
        {{ exact_sum('run_losses.gpu_hours', 9) }} as attempts_gpu_hours,
        {{ exact_sum('run_losses.node_gpu_hours', 9) }} as used_gpu_hours,
        {{ exact_sum('run_losses.lost_gpu_hours_seconds', 9) }} as lost_gpu_hours_seconds
    from run_losses
    inner join {{ ref('fct_attempt_nodes') }} as attempt_nodes using (cluster_id, attempt_id)
    group by attempt_nodes.cluster_id, attempt_nodes.node_id
),

-- Jobs that share a node fail together: number of jobs that an incident ends on its culprit.
attempts_of_incidents as (
    select
        cluster_id,
        {{ exact_sum('attempt_count', 15) }} / {{ exact_sum('probability', 15) }} as attempts_per_incident
    from (
        select
            cluster_id,
            {{ exact_sum('failure_probability', 15) }} as attempt_count,
            max(failure_probability) as probability
        from {{ ref('inp_exposures_failed') }}
        where failure_probability > 0 and culprit_node_id is not null
        group by cluster_id, coalesce(incident_id, attempt_id), culprit_node_id
    )
    group by cluster_id
),

-- Restarted runs preempt others, which lose work, too.
second_order as (
    select
        lost.cluster_id,
        lost.gpu_hours / nullif(first_order.gpu_hours, 0) as loss_ratio
    from (
        select
            cluster_id,
            sum(expected_lost_gpu_hours order by gpu_size_bin) as gpu_hours
        from {{ ref('agg_lost_goodput') }}
        group by cluster_id
    ) as lost
    inner join (
        select
            cluster_id,
            sum(expected_lost_gpu_hours order by failure_category) as gpu_hours
        from {{ ref('agg_failure_rates_by_cause') }}
        group by cluster_id
    ) as first_order using (cluster_id)
),

lost as (
    select
        periods.cluster_id,
        count(*) filter (where failures.lost_gpu_hours is null) > 0 as has_unknown,
        {{ exact_sum('failures.posterior_probability * failures.lost_gpu_hours', 9) }}
            as gpu_hours
    from periods
    inner join {{ ref('fct_failures') }} as failures
        on
            periods.cluster_id = failures.cluster_id
            and periods.from_at < failures.failed_at
            and periods.to_at >= failures.failed_at
    group by periods.cluster_id
),

-- A ticket closed before these days says nothing about them.
components as (
    select
        tickets.cluster_id,
        tickets.node_id,
        tickets.component,
        count(*) as ticket_count,
        sum(count(*)) over (partition by tickets.cluster_id, tickets.node_id) as node_ticket_count,
        max(tickets.opened_at) as last_opened_at
    from {{ ref('fct_tickets') }} as tickets
    inner join windows using (cluster_id)
    where coalesce(tickets.closed_at, tickets.opened_at) >= windows.rate_start_date
    group by tickets.cluster_id, tickets.node_id, tickets.component
),

root_causes as (
    select
        cluster_id,
        node_id,
        arg_max(
            format(
                '{} ({} of {} ticket{})', component, ticket_count, node_ticket_count, if(node_ticket_count = 1, '', 's')
            ),
            (ticket_count, last_opened_at, component)
        ) as root_cause
    from components
    where component not in ('other', 'unknown')
    group by cluster_id, node_id
)

select
    nodes.cluster_id,
    nodes.node_id,
    windows.window_end_date,
    windows.rate_start_date as window_start_date,
    windows.thresholds,
    coalesce(uses.in_use_node_days, 0) as in_use_node_days,
    -- If no log of any node was understood, accounting alone judges all nodes.
    if(
        coalesce(max(uses.seen_node_days) over (partition by nodes.cluster_id), 0) = 0,
        coalesce(uses.in_use_node_days, 0),
        coalesce(uses.seen_node_days, 0)
    ) as seen_node_days,
    lengths.days,
    -- Known GPU counts represent the rest, if the rest is small.
    if(losses.known_seconds >= 0.9 * losses.seconds, losses.attempts_gpu_hours, null) as attempts_gpu_hours,
    if(
        losses.known_seconds >= 0.9 * losses.seconds,
        losses.used_gpu_hours * losses.seconds / losses.known_seconds,
        null
    ) as used_gpu_hours,
    if(losses.known_seconds >= 0.9 * losses.seconds, losses.lost_gpu_hours_seconds / losses.known_seconds, null)
    * coalesce(attempts_of_incidents.attempts_per_incident, 1) * coalesce(second_order.loss_ratio, 1)
        as incident_loss_gpu_hours,
    if(lost.has_unknown, null, lost.gpu_hours * coalesce(second_order.loss_ratio, 1)) as cluster_lost_gpu_hours,
    coalesce(
        root_causes.root_cause,
        if(
            nodes.cluster_id in (select cluster_id from {{ ref('fct_tickets') }}),
            'unknown (no ticket names a component)',
            'unknown (no tickets were given)'
        )
    ) as root_cause,
    signals.excl_jobid_count,
    signals.xid_cnt,
    signals.tickets,
    signals.out_count,
    signals.multi_node_node_fails,
    signals.single_node_node_fails,
    signals.single_node_node_failure_rate
from nodes
inner join windows using (cluster_id)
left join uses using (cluster_id, node_id)
left join lengths using (cluster_id)
left join losses using (cluster_id, node_id)
left join attempts_of_incidents using (cluster_id)
left join second_order using (cluster_id)
left join lost using (cluster_id)
left join root_causes using (cluster_id, node_id)
left join {{ ref('agg_lemon_signals') }} as signals using (cluster_id, node_id, window_end_date)
