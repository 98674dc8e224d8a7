-- What each health check showed in the study period: its onsets with the probability that each was true, where that can
-- be judged, what was drained after them, and the failures that it showed. One row per cluster and check that reported.
with clusters as (
    select
        clusters.*,
        configured.attribution_before_seconds as before_seconds
    from marts.dim_clusters as clusters
    inner join staging.stg_config__clusters as configured using (cluster_id)
    where clusters.study_to_at > clusters.study_from_at
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
        and sight.day_date between cast(clusters.study_from_at as date) and cast(clusters.study_to_at as date)
    group by sight.cluster_id, sight.day_date
),

checks as (
    select
        checks.cluster_id,
        checks.check_name,
        lower(trim(checks.check_name)) as check_key,
        cast(sum(days.node_days) as double) as node_days,
        count(*) * 24 as hours
    from marts.agg_check_introductions as checks
    inner join days
        on checks.cluster_id = days.cluster_id and cast(checks.first_reported_at as date) <= days.day_date
    where checks.source = 'health_check'
    group by checks.cluster_id, checks.check_name
),

-- A repeat is as true as what it repeats. The first word of a category names the component; unmapped is none.
events as (
    select
        *,
        coalesce(duplicate_of_event_id, event_id) as fault_id,
        lower(trim(check_name)) as check_key,
        list_filter([split_part(failure_category, '_', 1), split_part(co_category, '_', 1)], lambda x: x != 'unmapped')
            as components
    from marts.fct_health_events
),

repairs as (
    select
        cluster_id,
        node_id,
        opened_at as repaired_at,
        failure_category
    from marts.fct_tickets
    union all
    select
        cluster_id,
        node_id,
        started_at as repaired_at,
        failure_category
    from marts.fct_node_outages
    where not is_planned and origin = 'administrator'
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

failures as (
    select
        failures.*,
        clusters.before_seconds
    from marts.fct_failures as failures
    inner join clusters using (cluster_id)
    where failures.failed_at between clusters.study_from_at and clusters.study_to_at
),

-- The probability of each event to have ended an attempt; there is none where Slurm names the node. What a check saw
-- of the component before the window of attribution, within the hour, is as likely as the failure.
evidence as (
    select
        failures.*,
        evidence.event_id as fault_id,
        coalesce(evidence.probability, failures.posterior_probability) as probability
    from marts.fct_failure_evidence as evidence
    inner join failures using (cluster_id, attempt_id)
    union all
    select
        failures.*,
        events.fault_id,
        failures.posterior_probability as probability
    from failures
    inner join events
        on failures.cluster_id = events.cluster_id and failures.culprit_node_id = events.node_id
    where
        events.source = 'health_check'
        and events.severity != 'info'
        and events.observed_at >= failures.failed_at - interval 1 hour
        and events.observed_at < failures.failed_at - to_seconds(failures.before_seconds)
        and list_contains(events.components, split_part(failures.failure_category, '_', 1))
),

onsets as (
    select
        events.*,
        clusters.before_seconds,
        clusters.study_to_at,
        coalesce(interruptions.interrupted_at, timestamp 'infinity') as interrupted_at
    from events
    inner join clusters using (cluster_id)
    asof left join interruptions
        on
            events.cluster_id = interruptions.cluster_id
            and events.node_id = interruptions.node_id
            and events.observed_at <= interruptions.interrupted_at
    where
        events.source = 'health_check'
        and events.severity != 'info'
        and events.observed_at between clusters.study_from_at and clusters.study_to_at
),

-- Made first: joined to the onsets before their nodes, all attempts of the cluster would meet each of them.
held as materialized (
    select
        attempt_nodes.cluster_id,
        attempt_nodes.node_id,
        attempts.started_at,
        attempts.ended_at,
        attempts.state
    from marts.fct_attempt_nodes as attempt_nodes
    inner join marts.fct_attempts as attempts using (cluster_id, attempt_id)
    semi join onsets using (cluster_id, node_id)
    where attempts.started_at is not null
),

proofs as (
    select
        onsets.*,
        exists(
            select 1 from repairs
            where
                onsets.cluster_id = repairs.cluster_id
                and onsets.node_id = repairs.node_id
                and repairs.repaired_at
                between onsets.observed_at - interval 10 minute and onsets.observed_at + interval 6 hour
                and list_contains(onsets.components, split_part(repairs.failure_category, '_', 1))
        ) as is_repaired,
        (
            select max(evidence.probability) from evidence
            where onsets.cluster_id = evidence.cluster_id and onsets.fault_id = evidence.fault_id
        ) as failure_probability,
        exists(
            select 1 from events
            where
                onsets.cluster_id = events.cluster_id
                and onsets.node_id = events.node_id
                and events.source = 'kernel'
                and events.severity != 'info'
                and events.observed_at
                between onsets.observed_at - interval 5 minute and onsets.observed_at + interval 5 minute
                and list_has_any(onsets.components, events.components)
        ) as is_confirmed,
        exists(
            select 1 from held
            where
                onsets.cluster_id = held.cluster_id
                and onsets.node_id = held.node_id
                and held.started_at <= least(onsets.observed_at + interval 1 day, onsets.interrupted_at)
                and coalesce(held.ended_at, onsets.study_to_at) >= greatest(onsets.observed_at, held.started_at)
                + if(held.state = 'COMPLETED', to_seconds(onsets.before_seconds), interval 1 hour)
        ) as has_surviving_job
    from onsets
),

-- What asks to end jobs at once is refuted by one that goes on, what asks for a drain by going away without one, or by a
-- week in which nothing was done.
judged as (
    select
        *,
        count(*) over (partition by cluster_id, check_key, date_trunc('hour', observed_at)) as onsets_in_hour,
        case
            when is_repaired then 1
            when failure_probability is not null then failure_probability
            when severity = 'high' and has_surviving_job then 0
            when is_confirmed then 1
            when severity != 'high' and coalesce(cleared_at, observed_at + interval 7 day)
                < least(interrupted_at, study_to_at) then 0
        end as probability
    from proofs
),

counts as (
    select
        cluster_id,
        check_key,
        count(*) as onset_count,
        count(probability) as judged_count,
        sum(cast(probability as decimal(38, 9))) as true_count,
        sum(cast(probability * (1 - probability) as decimal(38, 9))) as doubt_variance,
        sum(onsets_in_hour) as squared_count
    from judged
    group by cluster_id, check_key
),

drained as (
    select
        judged.cluster_id,
        judged.check_key,
        any_value(date_diff('second', outages.started_at, coalesce(outages.ended_at, judged.study_to_at))) as seconds
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

-- The first alarm before each failure, and whether anything else showed it. A reason that a check wrote is no other log.
showings as (
    select
        events.cluster_id,
        events.check_key,
        events.source,
        evidence.attempt_id,
        any_value(evidence.posterior_probability) as failure_probability,
        any_value(evidence.state in ('FAILED', 'REQUEUED') and not evidence.is_culprit_named) as is_known_by_evidence,
        max(epoch(evidence.failed_at - events.observed_at)) as lead_seconds,
        max(evidence.probability) as probability,
        count(*) over (partition by events.cluster_id, evidence.attempt_id) = 1 as is_alone
    from evidence
    inner join events using (cluster_id, fault_id)
    where events.source in ('health_check', 'kernel') or not events.is_repeat
    group by events.cluster_id, events.check_key, events.source, evidence.attempt_id
),

shown as (
    select
        cluster_id,
        check_key,
        list(lead_seconds order by lead_seconds, attempt_id) as lead_seconds,
        list(probability order by lead_seconds, attempt_id) as lead_weights,
        sum(cast(failure_probability as decimal(38, 9))) filter (where is_alone) as alone_count,
        sum(cast(failure_probability as decimal(38, 9))) filter (where is_alone and is_known_by_evidence) as lost_count
    from showings
    where source = 'health_check'
    group by cluster_id, check_key
)

select
    checks.*,
    coalesce(counts.onset_count, 0) as onset_count,
    coalesce(counts.judged_count, 0) as judged_count,
    coalesce(counts.true_count, 0) as true_count,
    coalesce(counts.doubt_variance, 0) as doubt_variance,
    coalesce(counts.squared_count, 0) as squared_count,
    (
        select coalesce(sum(drained.seconds), 0) / 3600 from drained
        where checks.cluster_id = drained.cluster_id and checks.check_key = drained.check_key
    ) as drained_node_hours,
    coalesce(shown.lead_seconds, []) as lead_seconds,
    coalesce(shown.lead_weights, []) as lead_weights,
    coalesce(shown.alone_count, 0) as alone_count,
    coalesce(shown.lost_count, 0) as lost_count,
    (
        select coalesce(sum(cast(failures.posterior_probability as decimal(38, 9))), 0) from failures
        where checks.cluster_id = failures.cluster_id
    ) as failure_count
from checks
left join counts using (cluster_id, check_key)
left join shown using (cluster_id, check_key)
order by checks.cluster_id, checks.check_name
