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

-- What a check says of a component. A fault that several checks or logs show is one; each of them first shows it once.
alarms as (
    select
        events.cluster_id,
        events.node_id,
        events.fault_id,
        events.observed_at,
        unnest(list_distinct(events.components)) as component,
        to_seconds(clusters.before_seconds) + interval 1 microsecond as beyond_window
    from events
    inner join clusters using (cluster_id)
    where events.source = 'health_check' and events.severity != 'info'
),

fault_shows as (
    select
        cluster_id,
        fault_id,
        check_key,
        source,
        min(observed_at) as first_at
    from events
    where source in ('health_check', 'kernel') or not is_repeat
    group by cluster_id, fault_id, check_key, source
),

culprits as (
    select
        cluster_id,
        attempt_id,
        culprit_node_id as node_id,
        split_part(failure_category, '_', 1) as component,
        failed_at,
        posterior_probability,
        to_seconds(before_seconds) + interval 1 microsecond as beyond_window
    from failures
    where culprit_node_id is not null
),

-- What a check saw of the component before the window of attribution, within the hour, is as likely as the failure.
alarms_and_failures as (
    select
        cluster_id,
        node_id,
        component,
        fault_id,
        observed_at as happened_at,
        beyond_window,
        null as posterior_probability
    from alarms
    union all by name
    select
        * exclude (attempt_id, failed_at),
        failed_at as happened_at
    from culprits
),

early_alarms as (
    select
        cluster_id,
        fault_id,
        max(posterior_probability) over (
            partition by cluster_id, node_id, component
            order by happened_at
            range between beyond_window following and interval 1 hour following
        ) as probability
    from alarms_and_failures
    qualify fault_id is not null
),

-- The probability of each event to have ended an attempt; there is none where Slurm names the node.
fault_probabilities as (
    select
        cluster_id,
        fault_id,
        max(probability) as failure_probability
    from (
        select
            evidence.cluster_id,
            evidence.event_id as fault_id,
            coalesce(evidence.probability, failures.posterior_probability) as probability
        from marts.fct_failure_evidence as evidence
        inner join failures using (cluster_id, attempt_id)
        union all
        from early_alarms
    ) as probabilities
    group by cluster_id, fault_id
),

onsets as (
    select
        row_number() over () as onset,
        events.*,
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

onset_components as (
    select
        onset,
        cluster_id,
        node_id,
        observed_at,
        unnest(components) as component
    from onsets
),

component_repairs as (
    select
        *,
        split_part(failure_category, '_', 1) as component
    from repairs
),

kernel_components as (
    select
        cluster_id,
        node_id,
        observed_at,
        unnest(components) as component
    from events
    where source = 'kernel' and severity != 'info'
),

-- The first repair and the first kernel message of the component from shortly before the onset on.
confirmations as (
    select
        onsets.onset,
        bool_or(repairs.repaired_at <= onsets.observed_at + interval 6 hour) as is_repaired,
        bool_or(kernel.observed_at <= onsets.observed_at + interval 5 minute) as is_confirmed
    from onset_components as onsets
    asof left join component_repairs as repairs
        on
            onsets.cluster_id = repairs.cluster_id
            and onsets.node_id = repairs.node_id
            and onsets.component = repairs.component
            and onsets.observed_at - interval 10 minute <= repairs.repaired_at
    asof left join kernel_components as kernel
        on
            onsets.cluster_id = kernel.cluster_id
            and onsets.node_id = kernel.node_id
            and onsets.component = kernel.component
            and onsets.observed_at - interval 5 minute <= kernel.observed_at
    group by onsets.onset
),

-- Attempts that ran long enough to survive an onset, with the last onset that each of them survived.
held as (
    select
        attempt_nodes.cluster_id,
        attempt_nodes.node_id,
        attempts.started_at,
        coalesce(attempts.ended_at, clusters.study_to_at)
        - if(attempts.state = 'COMPLETED', to_seconds(clusters.before_seconds), interval 1 hour) as survived_to
    from marts.fct_attempts as attempts
    inner join clusters using (cluster_id)
    inner join marts.fct_attempt_nodes as attempt_nodes using (cluster_id, attempt_id)
    semi join onsets
        on attempt_nodes.cluster_id = onsets.cluster_id and attempt_nodes.node_id = onsets.node_id
    where attempts.started_at is not null and survived_to >= attempts.started_at
),

survived as (
    select
        cluster_id,
        node_id,
        started_at,
        max(survived_to) over (
            partition by cluster_id, node_id order by started_at range unbounded preceding
        ) as survived_to
    from held
),

proofs as (
    select
        onsets.*,
        coalesce(confirmations.is_repaired, false) as is_repaired,
        fault_probabilities.failure_probability,
        coalesce(confirmations.is_confirmed, false) as is_confirmed,
        coalesce(survived.survived_to >= onsets.observed_at, false) as has_surviving_job
    from onsets
    asof left join survived
        on
            onsets.cluster_id = survived.cluster_id
            and onsets.node_id = survived.node_id
            and least(onsets.observed_at + interval 1 day, onsets.interrupted_at) >= survived.started_at
    left join confirmations on onsets.onset = confirmations.onset
    left join fault_probabilities
        on onsets.cluster_id = fault_probabilities.cluster_id and onsets.fault_id = fault_probabilities.fault_id
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

outages as (
    select
        outages.cluster_id,
        outages.node_id,
        outages.outage_id,
        lower(outages.reason) as reason,
        least(outages.started_at, coalesce(outages.requested_at, outages.started_at)) as drained_at,
        date_diff('second', outages.started_at, coalesce(outages.ended_at, clusters.study_to_at)) as seconds
    from marts.fct_node_outages as outages
    inner join clusters using (cluster_id)
    where not outages.is_planned and outages.origin != 'slurm' and outages.started_at <= clusters.study_to_at
),

-- Each outage stands between the onsets of each check of its node.
onsets_and_outages as (
    select
        cluster_id,
        node_id,
        check_key,
        observed_at as happened_at,
        probability,
        interval 0 second as reach
    from judged
    union all by name
    select
        outages.* exclude (reason, drained_at),
        node_checks.check_key,
        outages.drained_at as happened_at,
        if(contains(outages.reason, node_checks.check_key), interval 1 day, interval 30 minute) as reach
    from outages
    inner join (select distinct cluster_id, node_id, check_key from judged) as node_checks
        using (cluster_id, node_id)
),

drained as (
    select
        cluster_id,
        check_key,
        sum(seconds) as seconds
    from (
        select
            *,
            max(probability) over (
                partition by cluster_id, node_id, check_key
                order by happened_at
                range between reach preceding and interval 1 minute following
            ) as highest_probability
        from onsets_and_outages
        qualify outage_id is not null and highest_probability < 0.2
    ) as false_drains
    group by cluster_id, check_key
),

-- Each failure stands between the alarms of each check that reports on its component.
shown_alarms as (
    select
        alarms.cluster_id,
        alarms.node_id,
        alarms.component,
        alarms.observed_at as happened_at,
        alarms.beyond_window,
        fault_shows.check_key,
        fault_shows.source,
        fault_shows.first_at as shown_at
    from alarms
    inner join fault_shows using (cluster_id, fault_id)
),

shows_before_failures as (
    select
        cluster_id,
        attempt_id,
        check_key,
        source,
        posterior_probability as probability,
        min(shown_at) over (
            partition by cluster_id, node_id, component, check_key, source
            order by happened_at
            range between interval 1 hour preceding and beyond_window preceding
        ) as first_at
    from (
        from shown_alarms
        union all by name
        select
            culprits.* exclude (failed_at),
            culprits.failed_at as happened_at,
            node_checks.check_key,
            node_checks.source
        from culprits
        inner join (
            select distinct cluster_id, node_id, component, check_key, source from shown_alarms
        ) as node_checks using (cluster_id, node_id, component)
    ) as alarms_and_failures
    qualify attempt_id is not null and first_at is not null
),

shows as (
    select
        evidence.cluster_id,
        evidence.attempt_id,
        fault_shows.check_key,
        fault_shows.source,
        evidence.probability,
        fault_shows.first_at
    from marts.fct_failure_evidence as evidence
    inner join fault_shows on evidence.cluster_id = fault_shows.cluster_id and evidence.event_id = fault_shows.fault_id
    union all
    from shows_before_failures
),

-- The first alarm before each failure, and whether anything else showed it. A reason that a check wrote is no other log.
showings as (
    select
        shows.cluster_id,
        shows.check_key,
        shows.source,
        shows.attempt_id,
        any_value(failures.posterior_probability) as failure_probability,
        any_value(failures.state in ('FAILED', 'REQUEUED') and not failures.is_culprit_named) as is_known_by_evidence,
        max(epoch(failures.failed_at - shows.first_at)) as lead_seconds,
        max(coalesce(shows.probability, failures.posterior_probability)) as probability,
        count(*) over (partition by shows.cluster_id, shows.attempt_id) = 1 as is_alone
    from shows
    inner join failures using (cluster_id, attempt_id)
    group by shows.cluster_id, shows.check_key, shows.source, shows.attempt_id
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
    coalesce(drained.seconds, 0) / 3600 as drained_node_hours,
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
left join drained using (cluster_id, check_key)
order by checks.cluster_id, checks.check_name
