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

failed_nodes as (
    select
        failures.cluster_id,
        attempt_nodes.node_id,
        failures.failed_at
    from {{ ref('fct_failures') }} as failures
    inner join clusters using (cluster_id)
    inner join {{ ref('fct_attempt_nodes') }} as attempt_nodes using (cluster_id, attempt_id)
    where
        failures.failed_at > clusters.study_from_at
        and failures.failed_at <= clusters.study_to_at
        and failures.posterior_probability >= 0.5
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
    -- A repeat of another event is no evidence.
    where events.is_evidence
),

-- The latest end of the planned outages up to each of them. An open outage has no end.
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

-- Events of a node within an hour of its incident may belong to the incident.
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

-- An end before the onset is in one of two half-hours.
onset_slots as (
    select distinct
        cluster_id,
        node_id,
        unnest([0, 1]) + cast(epoch(observed_at - to_seconds(after_seconds)) as bigint) // 1800 - 1 as slot
    from late_onsets
),

-- Most ends have no onset nearby. Drop them before looking up nodes.
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
        from {{ ref('inp_ends_without_evidence_listed') }}
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

-- Late evidence of an end: an onset on one of its nodes in the half-hour after the attribution window.
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

-- The ends before an onset are in the month of the first or of the last of them.
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
)

select
    clusters.cluster_id,
    late_months.month_date,
    clusters.has_health_checks,
    clusters.has_kernel_messages,
    coalesce(late_months.late_seen_count, 0) as late_seen_count,
    coalesce(late_months.control_hits, 0) as control_hits,
    coalesce(late_months.control_onsets, 0) as control_onsets
from clusters
left join late_months using (cluster_id)
