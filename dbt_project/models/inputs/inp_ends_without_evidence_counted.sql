with clusters as (
    select
        clusters.cluster_id,
        clusters.has_health_checks,
        clusters.has_kernel_messages,
        clusters.study_from_at,
        clusters.study_to_at,
        configured.attribution_after_seconds as after_seconds
    from {{ ref('dim_clusters') }} as clusters
    left join {{ ref('stg_config__clusters') }} as configured using (cluster_id)
),

failures as (
    select
        failures.cluster_id,
        failures.attempt_id,
        failures.failed_at,
        failures.state,
        failures.failure_category,
        failures.posterior_probability as probability
    from {{ ref('fct_failures') }} as failures
    inner join clusters using (cluster_id)
    where failures.failed_at > clusters.study_from_at and failures.failed_at <= clusters.study_to_at
),

likely_failures as (
    from failures
    where probability >= 0.5
),

-- Attempts inside the study period: those that ended without evidence, their control, and all others that were exposed.
ends as (
    select
        attempts.cluster_id,
        attempts.attempt_id,
        attempts.ended_at,
        cast(date_trunc('month', attempts.ended_at) as date) as month_date,
        attempts.node_count,
        attempts.user_name,
        attempts.runtime_seconds,
        -- The first half-hour is one class.
        greatest(10, cast(floor(log2(attempts.runtime_seconds)) as integer)) as runtime_class,
        attempts.state in ('FAILED', 'REQUEUED') as is_unexplained,
        attempts.state = 'COMPLETED' as is_control,
        clusters.after_seconds
    from {{ ref('fct_attempts') }} as attempts
    inner join clusters using (cluster_id)
    anti join likely_failures using (cluster_id, attempt_id)
    where
        attempts.is_terminal
        and attempts.ended_at > clusters.study_from_at
        and attempts.ended_at <= clusters.study_to_at
        and attempts.node_count > 0
        and attempts.runtime_seconds > 0
        and attempts.end_reason is distinct from 'planned'
),

failed_nodes as (
    select
        failures.cluster_id,
        attempt_nodes.node_id,
        failures.failed_at
    from likely_failures as failures
    inner join {{ ref('fct_attempt_nodes') }} as attempt_nodes using (cluster_id, attempt_id)
),

onsets as (
    select
        events.cluster_id,
        events.event_id,
        events.node_id,
        events.observed_at,
        clusters.after_seconds
    from {{ ref('fct_health_events') }} as events
    inner join clusters using (cluster_id)
    -- A repeat of another event is none.
    where events.is_evidence
),

-- The end of the planned outages that began up to each of them; one that lasts has none.
planned_outages as (
    select
        cluster_id,
        node_id,
        started_at,
        max(coalesce(ended_at, timestamp 'infinity')) over (
            partition by cluster_id, node_id order by started_at range unbounded preceding
        ) as ended_at
    from {{ ref('fct_node_outages') }}
    where is_planned
),

-- What a node shows within an hour of its incident may be of the incident.
late_onsets as (
    select onsets.*
    from onsets
    asof left join planned_outages as planned
        on
            onsets.cluster_id = planned.cluster_id
            and onsets.node_id = planned.node_id
            and onsets.observed_at >= planned.started_at
    asof left join failed_nodes as failed
        on
            onsets.cluster_id = failed.cluster_id
            and onsets.node_id = failed.node_id
            and onsets.observed_at >= failed.failed_at
    where
        coalesce(onsets.observed_at > planned.ended_at, true)
        and coalesce(onsets.observed_at > failed.failed_at + interval 1 hour, true)
),

-- An end that saw the onset lies in one of two half-hours.
onset_slots as (
    select distinct
        cluster_id,
        node_id,
        unnest([0, 1]) + cast(epoch(observed_at - to_seconds(after_seconds)) as bigint) // 1800 - 1 as slot
    from late_onsets
),

-- Most ends have no onset anywhere near them: these go before the nodes are looked up.
near_ends as (
    select
        slotted_ends.cluster_id,
        slotted_ends.month_date,
        slotted_ends.is_control,
        slotted_ends.attempt_id,
        attempt_nodes.node_id,
        slotted_ends.ended_at + to_seconds(slotted_ends.after_seconds) as closed_at
    from (
        select
            *,
            cast(epoch(ended_at) as bigint) // 1800 as slot
        from ends
        where is_unexplained or is_control
    ) as slotted_ends
    semi join onset_slots as slots
        on slotted_ends.cluster_id = slots.cluster_id and slotted_ends.slot = slots.slot
    inner join {{ ref('fct_attempt_nodes') }} as attempt_nodes using (cluster_id, attempt_id)
    semi join onset_slots as node_slots
        on
            slotted_ends.cluster_id = node_slots.cluster_id
            and attempt_nodes.node_id = node_slots.node_id
            and slotted_ends.slot = node_slots.slot
),

-- Late evidence of an end is an onset on one of its nodes in the half-hour after the window of attribution.
ends_with_late_onsets as (
    select near_ends.*
    from near_ends
    asof inner join late_onsets as onsets
        on
            near_ends.cluster_id = onsets.cluster_id
            and near_ends.node_id = onsets.node_id
            and near_ends.closed_at < onsets.observed_at
    where onsets.observed_at <= near_ends.closed_at + interval 30 minute
),

controls as (
    from near_ends
    where is_control
),

-- The ends before an onset lie in the months of the first and of the last of them.
onset_months as (
    select
        onsets.cluster_id,
        onsets.event_id,
        unnest(list_distinct([first_ends.month_date, last_ends.month_date])) as month_date
    from late_onsets as onsets
    asof inner join controls as last_ends
        on
            onsets.cluster_id = last_ends.cluster_id
            and onsets.node_id = last_ends.node_id
            and onsets.observed_at > last_ends.closed_at
    asof inner join controls as first_ends
        on
            onsets.cluster_id = first_ends.cluster_id
            and onsets.node_id = first_ends.node_id
            and onsets.observed_at - interval 30 minute <= first_ends.closed_at
    where last_ends.closed_at >= onsets.observed_at - interval 30 minute
),

late_months as (
    select
        cluster_id,
        month_date,
        count(distinct attempt_id) filter (where not is_control) as late_seen_count,
        count(distinct row(attempt_id, node_id)) filter (where is_control) as control_hits,
        any_value(control_onsets) as control_onsets
    from ends_with_late_onsets
    left join (
        select
            cluster_id,
            month_date,
            count(*) as control_onsets
        from onset_months
        group by cluster_id, month_date
    ) as controlled_months using (cluster_id, month_date)
    group by cluster_id, month_date
),

sizes as (
    select
        cluster_id,
        month_date,
        node_count,
        count(*) filter (where is_unexplained) as end_count,
        count(*) filter (where is_control) * node_count as control_windows
    from ends
    group by cluster_id, month_date, node_count
),

size_months as (
    select
        cluster_id,
        month_date,
        sum(control_windows) as control_windows,
        list(node_count order by node_count) as end_node_counts,
        list(end_count order by node_count) as end_counts
    from sizes
    group by cluster_id, month_date
),

sorted_ends as (
    select
        cluster_id,
        month_date,
        user_name,
        node_count,
        runtime_class,
        count(*) as end_count,
        count(*) filter (where is_unexplained) as failed,
        cast(sum(runtime_seconds) as bigint) as runtime_seconds
    from ends
    where user_name is not null
    group by cluster_id, month_date, user_name, node_count, runtime_class
),

-- What ran longer was exposed in all classes below its own, whether or not anything ended there.
longest as (
    select
        cluster_id,
        month_date,
        user_name,
        node_count,
        unnest(range(10, max(runtime_class) + 1)) as runtime_class
    from sorted_ends
    group by cluster_id, month_date, user_name, node_count
),

cells as (
    select
        longest.cluster_id,
        longest.month_date,
        longest.user_name,
        longest.node_count,
        longest.runtime_class,
        coalesce(any_value(sorted_ends.failed) filter (where sorted_ends.runtime_class = longest.runtime_class), 0)
            as failed,
        sum(
            if(
                sorted_ends.runtime_class = longest.runtime_class,
                sorted_ends.runtime_seconds,
                sorted_ends.end_count * (cast(1 as bigint) << longest.runtime_class + 1)
            )
            - if(longest.runtime_class > 10, sorted_ends.end_count * (cast(1 as bigint) << longest.runtime_class), 0)
        ) / 86400 as days
    from longest
    inner join sorted_ends
        on
            longest.cluster_id = sorted_ends.cluster_id
            and longest.month_date = sorted_ends.month_date
            and longest.user_name = sorted_ends.user_name
            and longest.node_count = sorted_ends.node_count
            and longest.runtime_class <= sorted_ends.runtime_class
    group by
        longest.cluster_id, longest.month_date, longest.user_name, longest.node_count, longest.runtime_class
),

numbered_cells as (
    select
        *,
        dense_rank() over (order by cluster_id, user_name) as user_number
    from cells
),

cell_months as (
    select
        cluster_id,
        month_date,
        list(user_number order by user_number, runtime_class, node_count) as cell_users,
        list(runtime_class order by user_number, runtime_class, node_count) as cell_runtime_classes,
        list(node_count order by user_number, runtime_class, node_count) as cell_node_counts,
        list(failed order by user_number, runtime_class, node_count) as cell_failed,
        list(days order by user_number, runtime_class, node_count) as cell_days
    from numbered_cells
    group by cluster_id, month_date
),

-- Without a vendor the node may be of any.
shown_by_both as (
    select
        clusters.cluster_id,
        signatures.failure_category
    from clusters
    inner join {{ ref('inp_cause_signatures_listed') }} as signatures
        on coalesce(signatures.cluster_id, clusters.cluster_id) = clusters.cluster_id
    where not signatures.repeats_kernel
    group by clusters.cluster_id, signatures.failure_category
    having bit_or(signatures.kind) & 3 = 3
),

sources as (
    select
        failures.cluster_id,
        failures.attempt_id,
        bool_or(events.source = 'kernel') as is_in_kernel,
        bool_or(events.source = 'health_check') as is_in_checks,
        coalesce(bool_or(sight.kinds & 3 = 3), false) as has_both
    from failures
    inner join {{ ref('fct_failure_evidence') }} as evidence using (cluster_id, attempt_id)
    inner join {{ ref('fct_health_events') }} as events
        on evidence.cluster_id = events.cluster_id and evidence.event_id = events.event_id
    left join {{ ref('inp_node_days_seen') }} as sight
        on
            evidence.cluster_id = sight.cluster_id
            and evidence.node_id = sight.node_id
            and cast(failures.failed_at as date) = sight.day_date
    where failures.state in ('FAILED', 'REQUEUED')
    group by failures.cluster_id, failures.attempt_id
),

sourced as (
    select
        failures.cluster_id,
        cast(date_trunc('month', failures.failed_at) as date) as month_date,
        failures.failure_category,
        cast(failures.probability as decimal(38, 9)) as probability,
        shown_by_both.failure_category is not null as is_shown_by_both,
        coalesce(sources.is_in_kernel and (sources.has_both or shown_by_both.failure_category is null), false)
            as is_in_kernel,
        coalesce(sources.is_in_checks and (sources.has_both or shown_by_both.failure_category is null), false)
            as is_in_checks
    from failures
    left join sources using (cluster_id, attempt_id)
    left join shown_by_both using (cluster_id, failure_category)
    where failures.state in ('FAILED', 'REQUEUED')
),

categories as (
    select
        cluster_id,
        month_date,
        failure_category,
        is_shown_by_both,
        coalesce(sum(probability) filter (where is_in_kernel and is_in_checks), 0) as seen_by_both,
        coalesce(sum(probability) filter (where is_in_kernel and not is_in_checks), 0) as kernel_only,
        coalesce(sum(probability) filter (where not is_in_kernel and is_in_checks), 0) as checks_only,
        coalesce(sum(probability) filter (where not is_in_kernel and not is_in_checks), 0) as uncompared
    from sourced
    group by cluster_id, month_date, failure_category, is_shown_by_both
),

category_months as (
    select
        cluster_id,
        month_date,
        list(
            struct_pack(
                category := failure_category,
                common := cast(seen_by_both as double),
                kernel_only := cast(kernel_only as double),
                checks_only := cast(checks_only as double),
                uncompared := cast(uncompared as double),
                is_shown_by_both := is_shown_by_both
            )
            order by failure_category
        ) as categories
    from categories
    group by cluster_id, month_date
),

months as (
    select
        cluster_id,
        month_date
    from size_months
    union
    select
        cluster_id,
        month_date
    from category_months
)

select
    clusters.cluster_id,
    months.month_date,
    clusters.has_health_checks,
    clusters.has_kernel_messages,
    coalesce(late_months.late_seen_count, 0) as late_seen_count,
    coalesce(late_months.control_hits, 0) as control_hits,
    coalesce(late_months.control_onsets, 0) as control_onsets,
    cast(coalesce(size_months.control_windows, 0) as bigint) as control_windows,
    coalesce(size_months.end_node_counts, []) as end_node_counts,
    coalesce(size_months.end_counts, []) as end_counts,
    coalesce(cell_months.cell_users, []) as cell_users,
    coalesce(cell_months.cell_runtime_classes, []) as cell_runtime_classes,
    coalesce(cell_months.cell_node_counts, []) as cell_node_counts,
    coalesce(cell_months.cell_failed, []) as cell_failed,
    coalesce(cell_months.cell_days, []) as cell_days,
    coalesce(category_months.categories, []) as categories
from clusters
left join months using (cluster_id)
left join late_months using (cluster_id, month_date)
left join size_months using (cluster_id, month_date)
left join cell_months using (cluster_id, month_date)
left join category_months using (cluster_id, month_date)
