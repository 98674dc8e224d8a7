with clusters as (
    select
        clusters.cluster_id,
        clusters.study_from_at,
        clusters.study_to_at,
        -- longer than the attribution window
        to_seconds(configured.attribution_before_seconds) + interval 1 microsecond as before
    from {{ ref('dim_clusters') }} as clusters
    inner join {{ ref('stg_config__clusters') }} as configured using (cluster_id)
    where clusters.study_to_at > clusters.study_from_at
),

days as (
    select
        sight.cluster_id,
        sight.day_date,
        count(*) as node_days
    from {{ source('ops', 'sight') }} as sight
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
    from {{ ref('agg_check_introductions') }} as checks
    inner join days
        on checks.cluster_id = days.cluster_id and cast(checks.first_reported_at as date) <= days.day_date
    where checks.source = 'health_check'
    group by checks.cluster_id, checks.check_name
),

failures as (
    select
        failures.cluster_id,
        failures.attempt_id,
        failures.failed_at,
        failures.culprit_node_id,
        split_part(failures.failure_category, '_', 1) as component,
        failures.posterior_probability,
        failures.state in ('FAILED', 'REQUEUED') and not failures.is_culprit_named as is_known_by_evidence,
        clusters.before
    from {{ ref('fct_failures') }} as failures
    inner join clusters using (cluster_id)
    where failures.failed_at between clusters.study_from_at and clusters.study_to_at
),

-- Probability that each event ended an attempt. None if Slurm names the node.
attributed as (
    select
        failures.cluster_id,
        failures.attempt_id,
        failures.failed_at,
        evidence.event_id as fault_id,
        coalesce(evidence.probability, failures.posterior_probability) as probability
    from {{ ref('fct_failure_evidence') }} as evidence
    inner join failures using (cluster_id, attempt_id)
),

-- What a check saw of the component within the hour before the attribution window is as probable as the failure.
early_alarms as (
    select
        alarms.cluster_id,
        alarms.node_id,
        alarms.component,
        alarms.observed_at,
        alarms.fault_id,
        clusters.before
    from (
        select
            *,
            unnest(components) as component
        from {{ ref('inp_fault_events_named') }}
        where source = 'health_check' and severity != 'info'
    ) as alarms
    inner join clusters using (cluster_id)
    semi join failures
        on
            alarms.cluster_id = failures.cluster_id
            and alarms.node_id = failures.culprit_node_id
            and alarms.component = failures.component
),

onsets as (
    from {{ ref('inp_check_onsets_followed') }}
),

onset_components as (
    select
        *,
        epoch(until_at - observed_at) / 86400 as days,
        max(until_at) over (
            partition by cluster_id, check_key, node_id, component
            order by observed_at, onset rows between unbounded preceding and 1 preceding
        ) as earlier_until_at
    from (
        select
            *,
            unnest(list_append(components, 'interruption')) as component
        from onsets
    ) as listed
),

-- Days that nodes were followed for a check: after each onset, and after any onset.
followed_days as (
    select
        cluster_id,
        check_key,
        component,
        sum(cast(days as decimal(38, 9))) as days,
        sum(cast(greatest(epoch(until_at - greatest(observed_at, earlier_until_at)), 0) / 86400 as decimal(38, 9)))
            as node_days,
        count(distinct row(node_id, fault.occurred_at)) filter (fault.component = component and fault.is_new)
            as fault_count
    from onset_components
    group by cluster_id, check_key, component
),

fleet as (
    select
        cluster_id,
        count(*) as node_days
    from {{ ref('fct_node_days') }}
    inner join clusters using (cluster_id)
    where day_date between cast(clusters.study_from_at as date) and cast(clusters.study_to_at as date)
    group by cluster_id
),

fault_counts as (
    select
        cluster_id,
        faults.component,
        count(*) as fault_count
    from {{ ref('inp_component_faults_listed') }} as faults
    inner join clusters using (cluster_id)
    where faults.is_new and faults.occurred_at between clusters.study_from_at and clusters.study_to_at
    group by cluster_id, faults.component
),

-- Rate of faults without a followed onset. A rate from few faults or few days is imprecise.
fleet_rates as (
    select
        cluster_id,
        check_key,
        component,
        greatest(coalesce(fault_counts.fault_count, 0) - followed_days.fault_count, 0) as outside_count,
        greatest(cast(greatest(checks.node_days, fleet.node_days) - followed_days.node_days as double), 1)
            as outside_days,
        outside_count / outside_days as rate,
        pow(cast(followed_days.days as double) / outside_days, 2) * (outside_count + 1) as rate_variance
    from followed_days
    left join checks using (cluster_id, check_key)
    left join fleet using (cluster_id)
    left join fault_counts using (cluster_id, component)
),

chances as (
    select
        onsets.onset,
        coalesce(1 - exp(-sum(rates.rate * onsets.days) filter (component != 'interruption')), 0) as fault_chance,
        1 - exp(-sum(rates.rate * onsets.days) filter (component = 'interruption')) as interruption_chance
    from onset_components as onsets
    inner join fleet_rates as rates using (cluster_id, check_key, component)
    group by onsets.onset
),

-- Onsets of one hour, or of one node with one outcome, form a burst.
judged as (
    select
        *,
        greatest(
            count(*) over (partition by cluster_id, check_key, date_trunc('hour', observed_at)),
            count(*) over (
                partition by
                    cluster_id, check_key, node_id, is_followed,
                    if(is_followed, until_at, time_bucket(interval 7 day, observed_at))
            )
        ) as burst_count
    from onsets
    inner join chances using (onset)
),

counts as (
    select
        cluster_id,
        check_key,
        count(*) as onset_count,
        count(probability) as judged_count,
        sum(cast(probability as decimal(38, 9))) as true_count,
        sum(cast(probability * (1 - probability) as decimal(38, 9))) as doubt_variance,
        sum(cast(probability as decimal(38, 9))) filter (is_followed) as followed_count,
        sum(cast(fault_chance as decimal(38, 9))) as chance_count,
        count_if(probability is null and fault.component = 'interruption') as interrupted_count,
        sum(cast(interruption_chance as decimal(38, 9))) as interruption_chance_count,
        sum(burst_count) as squared_count,
        count_if(is_survived) as survived_count
    from judged
    group by cluster_id, check_key
),

rate_variances as (
    select
        cluster_id,
        check_key,
        sum(rate_variance) as rate_variance
    from fleet_rates
    where component != 'interruption'
    group by cluster_id, check_key
),

-- Requested outages, with the checks that may have caused the request.
asked_outages as (
    select
        outages.cluster_id,
        outages.node_id,
        checks.check_key,
        least(outages.started_at, coalesce(outages.requested_at, outages.started_at)) as asked_at,
        least(outages.started_at, coalesce(outages.requested_at, outages.started_at))
        - if(contains(lower(outages.reason), checks.check_key), interval 1 day, interval 30 minute) as since_at,
        date_diff('second', outages.started_at, coalesce(outages.ended_at, clusters.study_to_at)) as seconds
    from {{ ref('fct_node_outages') }} as outages
    inner join clusters using (cluster_id)
    inner join (
        select distinct
            cluster_id,
            node_id,
            check_key
        from onsets
    ) as checks
        on outages.cluster_id = checks.cluster_id and outages.node_id = checks.node_id
    where not outages.is_planned and outages.origin != 'slurm' and outages.started_at <= clusters.study_to_at
),

drained as (
    select
        outages.cluster_id,
        outages.check_key,
        sum(outages.seconds) / 3600 as node_hours
    from asked_outages as outages
    asof inner join (
        from onsets
        where probability < 0.2 or (probability is null and severity = 'high' and is_survived)
    ) as false_onsets
        on
            outages.cluster_id = false_onsets.cluster_id
            and outages.node_id = false_onsets.node_id
            and outages.check_key = false_onsets.check_key
            and outages.asked_at + interval 1 minute >= false_onsets.observed_at
    asof left join (
        from onsets
        where probability >= 0.2
    ) as true_onsets
        on
            outages.cluster_id = true_onsets.cluster_id
            and outages.node_id = true_onsets.node_id
            and outages.check_key = true_onsets.check_key
            and outages.asked_at + interval 1 minute >= true_onsets.observed_at
    where
        false_onsets.observed_at >= outages.since_at
        and coalesce(true_onsets.observed_at < outages.since_at, true)
    group by outages.cluster_id, outages.check_key
),

-- Logs that showed a fault, and when first. A reason written by a check is no other log.
sightings as (
    select
        cluster_id,
        fault_id,
        check_key,
        source,
        min(observed_at) as first_observed_at
    from {{ ref('inp_fault_events_named') }}
    semi join (
        select
            cluster_id,
            fault_id
        from attributed
        union all
        select
            cluster_id,
            fault_id
        from early_alarms
    ) as shown using (cluster_id, fault_id)
    where source in ('health_check', 'kernel') or not is_repeat
    group by cluster_id, fault_id, check_key, source
),

early_sightings as (
    select
        alarms.cluster_id,
        alarms.node_id,
        alarms.component,
        alarms.observed_at,
        alarms.before,
        sightings.check_key,
        sightings.source,
        sightings.first_observed_at as sighted_at
    from early_alarms as alarms
    inner join sightings using (cluster_id, fault_id)
),

early_sightings_and_failures as (
    select
        cluster_id,
        node_id,
        component,
        check_key,
        source,
        observed_at,
        sighted_at,
        before,
        null as attempt_id,
        null as probability
    from early_sightings
    union all
    select
        failures.cluster_id,
        sighted.node_id,
        sighted.component,
        sighted.check_key,
        sighted.source,
        failures.failed_at as observed_at,
        null as sighted_at,
        failures.before,
        failures.attempt_id,
        failures.posterior_probability as probability
    from failures
    inner join (
        select distinct
            cluster_id,
            node_id,
            component,
            check_key,
            source
        from early_sightings
    ) as sighted
        on
            failures.cluster_id = sighted.cluster_id
            and failures.culprit_node_id = sighted.node_id
            and failures.component = sighted.component
),

showings as (
    select
        attributed.cluster_id,
        attributed.attempt_id,
        sightings.check_key,
        sightings.source,
        attributed.failed_at,
        sightings.first_observed_at,
        attributed.probability
    from attributed
    inner join sightings using (cluster_id, fault_id)
    union all
    select
        cluster_id,
        attempt_id,
        check_key,
        source,
        observed_at as failed_at,
        min(sighted_at) over (
            partition by cluster_id, node_id, component, check_key, source
            order by observed_at range between interval 1 hour preceding and before preceding
        ) as first_observed_at,
        probability
    from early_sightings_and_failures
    qualify attempt_id is not null and first_observed_at is not null
),

-- The first alarm before each failure, and whether anything else showed it.
first_showings as (
    select
        cluster_id,
        check_key,
        source,
        attempt_id,
        max(epoch(failed_at - first_observed_at)) as lead_seconds,
        max(probability) as probability,
        count(*) over (partition by cluster_id, attempt_id) = 1 as is_alone
    from showings
    group by cluster_id, check_key, source, attempt_id
),

shown as (
    select
        showings.cluster_id,
        showings.check_key,
        list(showings.lead_seconds order by showings.lead_seconds, showings.attempt_id) as lead_seconds,
        list(showings.probability order by showings.lead_seconds, showings.attempt_id) as lead_weights,
        sum(cast(failures.posterior_probability as decimal(38, 9))) filter (where showings.is_alone) as alone_count,
        sum(cast(failures.posterior_probability as decimal(38, 9))) filter (
            where showings.is_alone and failures.is_known_by_evidence
        ) as lost_count
    from first_showings as showings
    inner join failures using (cluster_id, attempt_id)
    where showings.source = 'health_check'
    group by showings.cluster_id, showings.check_key
),

failure_counts as (
    select
        cluster_id,
        sum(cast(posterior_probability as decimal(38, 9))) as failure_count
    from failures
    group by cluster_id
)

select
    checks.* exclude (check_key),
    coalesce(counts.onset_count, 0) as onset_count,
    coalesce(counts.judged_count, 0) as judged_count,
    coalesce(counts.true_count, 0) as true_count,
    coalesce(counts.doubt_variance, 0) as doubt_variance,
    coalesce(counts.followed_count, 0) as followed_count,
    coalesce(counts.chance_count, 0) as chance_count,
    coalesce(rate_variances.rate_variance, 0) as rate_variance,
    coalesce(counts.interrupted_count, 0) as interrupted_count,
    coalesce(counts.interruption_chance_count, 0) as interruption_chance_count,
    coalesce(counts.squared_count, 0) as squared_count,
    coalesce(counts.survived_count, 0) as survived_count,
    coalesce(drained.node_hours, 0) as drained_node_hours,
    coalesce(shown.lead_seconds, []) as lead_seconds,
    coalesce(shown.lead_weights, []) as lead_weights,
    coalesce(shown.alone_count, 0) as alone_count,
    coalesce(shown.lost_count, 0) as lost_count,
    coalesce(failure_counts.failure_count, 0) as failure_count
from checks
left join counts using (cluster_id, check_key)
left join rate_variances using (cluster_id, check_key)
left join drained using (cluster_id, check_key)
left join shown using (cluster_id, check_key)
left join failure_counts using (cluster_id)
