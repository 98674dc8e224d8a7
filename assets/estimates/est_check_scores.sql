-- What each health check showed in the study period: its onsets with the probability that each was true, where that can
-- be judged, what was drained after them, and the failures that it showed. One row per cluster and check that reported.
with clusters as (
    select
        clusters.cluster_id,
        clusters.study_from_at,
        clusters.study_to_at,
        configured.attribution_before_seconds as before_seconds
    from marts.dim_clusters as clusters
    inner join staging.stg_config__clusters as configured using (cluster_id)
    where clusters.study_to_at > clusters.study_from_at
),

checks as (
    select
        cluster_id,
        check_name,
        lower(trim(check_name)) as check_key,
        cast(first_reported_at as date) as first_date
    from marts.agg_check_introductions
    where source = 'health_check'
),

days as (
    select
        sight.cluster_id,
        sight.day_date,
        count(*) as node_days
    from ops.sight as sight
    inner join clusters using (cluster_id)
    where
        sight.kind = 'health'
        and sight.day_date >= cast(clusters.study_from_at as date)
        and sight.day_date <= cast(clusters.study_to_at as date)
    group by sight.cluster_id, sight.day_date
),

exposures as (
    select
        checks.cluster_id,
        checks.check_key,
        cast(sum(days.node_days) as double) as node_days,
        count(*) * 24 as hours
    from checks
    inner join days on checks.cluster_id = days.cluster_id and checks.first_date <= days.day_date
    group by checks.cluster_id, checks.check_key
),

-- A repeat is as true as what it repeats. The first word of a category names the component.
events as (
    select
        cluster_id,
        event_id,
        coalesce(duplicate_of_event_id, event_id) as fault_id,
        node_id,
        observed_at,
        cleared_at,
        source,
        check_name,
        lower(trim(check_name)) as check_key,
        [split_part(failure_category, '_', 1), split_part(co_category, '_', 1)] as components,
        severity,
        source in ('node_event', 'slurmctld') and is_repeat as is_copied_reason
    from marts.fct_health_events
),

onsets as (
    select
        events.*,
        clusters.before_seconds,
        clusters.study_to_at
    from events
    inner join clusters using (cluster_id)
    where
        events.source = 'health_check'
        and events.severity != 'info'
        and events.observed_at >= clusters.study_from_at
        and events.observed_at <= clusters.study_to_at
),

-- The probability of each event to have ended an attempt; the fit has none where Slurm names the node.
evidence as (
    select
        evidence.cluster_id,
        evidence.event_id as fault_id,
        evidence.attempt_id,
        failures.incident_id,
        failures.failed_at,
        failures.posterior_probability as failure_probability,
        failures.state in ('FAILED', 'REQUEUED') and not failures.is_culprit_named as is_known_by_evidence,
        coalesce(fitted.probability, failures.posterior_probability) as probability
    from marts.fct_failure_evidence as evidence
    inner join marts.fct_failures as failures using (cluster_id, attempt_id)
    left join intermediate.int_attribution_episodes as episodes
        on
            evidence.cluster_id = episodes.cluster_id
            and evidence.attempt_id = episodes.attempt_id
            and evidence.event_id = episodes.event_id
    left join intermediate.int_posteriors_fitted as fitted
        on
            episodes.cluster_id = fitted.cluster_id
            and episodes.attempt_id = fitted.attempt_id
            and episodes.node_id = fitted.node_id
            and episodes.episode_number = fitted.episode_number
            and fitted.draw = 0
),

in_failures as (
    select
        onsets.cluster_id,
        onsets.event_id,
        max(evidence.probability) as probability
    from onsets
    inner join evidence using (cluster_id, fault_id)
    group by onsets.cluster_id, onsets.event_id
),

repairs as (
    select
        cluster_id,
        node_id,
        opened_at as repaired_at,
        split_part(failure_category, '_', 1) as component
    from marts.fct_tickets
    union all
    select
        cluster_id,
        node_id,
        started_at as repaired_at,
        split_part(failure_category, '_', 1) as component
    from marts.fct_node_outages
    where not is_planned and origin = 'administrator'
),

repaired as (
    select distinct
        onsets.cluster_id,
        onsets.event_id
    from onsets
    inner join repairs using (cluster_id, node_id)
    where
        repairs.repaired_at >= onsets.observed_at - interval 10 minute
        and repairs.repaired_at <= onsets.observed_at + interval 1 day
        and list_contains(onsets.components, repairs.component)
),

confirmed as (
    select distinct
        onsets.cluster_id,
        onsets.event_id
    from onsets
    inner join events as others using (cluster_id, node_id)
    where
        others.source = 'kernel'
        and others.severity != 'info'
        and others.observed_at >= onsets.observed_at - interval 5 minute
        and others.observed_at <= onsets.observed_at + interval 5 minute
        and list_has_any(onsets.components, others.components)
),

interruptions as (
    select
        cluster_id,
        node_id,
        started_at as interrupted_at
    from marts.fct_node_outages
    union all
    select
        cluster_id,
        node_id,
        observed_at as interrupted_at
    from events
    where source = 'kernel' and check_name = 'boot'
),

until_interrupted as (
    select
        onsets.*,
        coalesce(interruptions.interrupted_at, timestamp 'infinity') as interrupted_at
    from onsets
    asof left join interruptions
        on
            onsets.cluster_id = interruptions.cluster_id
            and onsets.node_id = interruptions.node_id
            and onsets.observed_at <= interruptions.interrupted_at
),

-- What no failure and no repair proves, and says that the node is not fit for jobs.
asked as (
    select until_interrupted.*
    from until_interrupted
    anti join repaired using (cluster_id, event_id)
    anti join in_failures using (cluster_id, event_id)
    where until_interrupted.severity = 'high'
),

-- Made first: joined to the onsets before their nodes, all attempts of the cluster would meet each of them.
held as materialized (
    select
        attempt_nodes.cluster_id,
        attempt_nodes.node_id,
        attempts.started_at,
        attempts.ended_at,
        attempts.state = 'COMPLETED' as is_completed
    from marts.fct_attempt_nodes as attempt_nodes
    inner join marts.fct_attempts as attempts using (cluster_id, attempt_id)
    semi join asked using (cluster_id, node_id)
    where attempts.started_at is not null
),

-- What asks to end jobs at once is refuted by one that goes on, what asks for a drain by going away without one.
refuted as (
    select distinct
        asked.cluster_id,
        asked.event_id
    from asked
    inner join held using (cluster_id, node_id)
    where
        held.started_at <= least(asked.observed_at + interval 1 day, asked.interrupted_at)
        and coalesce(held.ended_at, asked.study_to_at)
        >= greatest(asked.observed_at, held.started_at)
        + if(held.is_completed, to_seconds(asked.before_seconds), interval 1 hour)
    union all
    select
        cluster_id,
        event_id
    from until_interrupted
    where severity != 'high' and cleared_at < interrupted_at
),

judged as (
    select
        onsets.cluster_id,
        onsets.event_id,
        onsets.check_key,
        onsets.node_id,
        onsets.observed_at,
        onsets.study_to_at,
        case
            when repaired.event_id is not null then 1
            when in_failures.event_id is not null then in_failures.probability
            when confirmed.event_id is not null and (refuted.event_id is null or onsets.severity != 'high') then 1
            when refuted.event_id is not null then 0
        end as probability
    from onsets
    left join repaired using (cluster_id, event_id)
    left join in_failures using (cluster_id, event_id)
    left join refuted using (cluster_id, event_id)
    left join confirmed using (cluster_id, event_id)
),

hours as (
    select
        cluster_id,
        check_key,
        count(*) as onset_count,
        count(probability) as judged_count,
        sum(cast(probability as decimal(38, 9))) as true_count,
        sum(cast(1 - probability * probability as decimal(38, 9))) as false_variance
    from judged
    group by cluster_id, check_key, date_trunc('hour', observed_at)
),

counts as (
    select
        cluster_id,
        check_key,
        sum(onset_count) as onset_count,
        sum(judged_count) as judged_count,
        sum(true_count) as true_count,
        sum(false_variance) as false_variance,
        sum(onset_count * onset_count) as squared_count
    from hours
    group by cluster_id, check_key
),

drained as (
    select
        judged.cluster_id,
        judged.check_key,
        outages.outage_id,
        epoch(any_value(coalesce(outages.ended_at, judged.study_to_at) - outages.started_at)) / 3600 as hours
    from judged
    inner join marts.fct_node_outages as outages using (cluster_id, node_id)
    where
        not outages.is_planned
        and outages.origin != 'slurm'
        and outages.started_at <= judged.study_to_at
        and least(outages.started_at, coalesce(outages.requested_at, outages.started_at))
        between judged.observed_at - interval 1 minute and judged.observed_at
        + if(contains(lower(outages.reason), judged.check_key), interval 1 day, interval 30 minute)
    group by judged.cluster_id, judged.check_key, outages.outage_id
    having max(judged.probability) < 0.2
),

drains as (
    select
        cluster_id,
        check_key,
        cast(sum(cast(hours as decimal(38, 9))) as double) as drained_node_hours
    from drained
    group by cluster_id, check_key
),

first_shown as (
    select
        onsets.cluster_id,
        onsets.check_key,
        evidence.attempt_id,
        max(epoch(evidence.failed_at - onsets.observed_at)) as lead_seconds,
        max(evidence.probability) as probability
    from onsets
    inner join evidence using (cluster_id, fault_id)
    group by onsets.cluster_id, onsets.check_key, evidence.attempt_id
),

leads as (
    select
        cluster_id,
        check_key,
        list(lead_seconds order by lead_seconds, attempt_id) as lead_seconds,
        list(probability order by lead_seconds, attempt_id) as lead_weights
    from first_shown
    group by cluster_id, check_key
),

shown_by_one as (
    select
        evidence.cluster_id,
        evidence.attempt_id,
        evidence.incident_id,
        evidence.failure_probability,
        evidence.is_known_by_evidence,
        min(events.check_key) as check_key
    from evidence
    inner join events using (cluster_id, fault_id)
    inner join clusters using (cluster_id)
    where
        not events.is_copied_reason
        and evidence.failed_at > clusters.study_from_at
        and evidence.failed_at <= clusters.study_to_at
    group by all
    having count(distinct (events.source, events.check_key)) = 1 and min(events.source) = 'health_check'
),

incidents as (
    select
        cluster_id,
        check_key,
        is_known_by_evidence,
        sum(cast(failure_probability as decimal(38, 9))) as failure_count,
        max(failure_probability) as incident_probability
    from shown_by_one
    group by cluster_id, check_key, is_known_by_evidence, incident_id
    having max(failure_probability) > 0
),

alone as (
    select
        cluster_id,
        check_key,
        sum(failure_count) as alone_count,
        coalesce(sum(failure_count) filter (where is_known_by_evidence), 0) as lost_count,
        coalesce(
            sum(cast(failure_count * failure_count * (2 / incident_probability - 1) as decimal(38, 9)))
                filter (where is_known_by_evidence),
            0
        ) as lost_variance
    from incidents
    group by cluster_id, check_key
),

failures as (
    select
        cluster_id,
        sum(cast(failures.posterior_probability as decimal(38, 9))) as failure_count
    from marts.fct_failures as failures
    inner join clusters using (cluster_id)
    where failures.failed_at > clusters.study_from_at and failures.failed_at <= clusters.study_to_at
    group by cluster_id
)

select
    checks.cluster_id,
    checks.check_name,
    exposures.node_days,
    exposures.hours,
    coalesce(counts.onset_count, 0) as onset_count,
    coalesce(counts.judged_count, 0) as judged_count,
    coalesce(counts.true_count, 0) as true_count,
    coalesce(counts.false_variance, 0) as false_variance,
    coalesce(counts.squared_count, 0) as squared_count,
    coalesce(drains.drained_node_hours, 0) as drained_node_hours,
    coalesce(leads.lead_seconds, []) as lead_seconds,
    coalesce(leads.lead_weights, []) as lead_weights,
    coalesce(alone.alone_count, 0) as alone_count,
    coalesce(alone.lost_count, 0) as lost_count,
    coalesce(alone.lost_variance, 0) as lost_variance,
    coalesce(failures.failure_count, 0) as failure_count
from checks
inner join exposures using (cluster_id, check_key)
left join counts using (cluster_id, check_key)
left join drains using (cluster_id, check_key)
left join leads using (cluster_id, check_key)
left join alone using (cluster_id, check_key)
left join failures using (cluster_id)
order by checks.cluster_id, checks.check_name
