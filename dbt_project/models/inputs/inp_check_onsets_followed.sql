with onsets as (
    from {{ ref('inp_check_onsets_numbered') }}
),

onset_components as (
    select
        *,
        unnest(components) as component
    from onsets
),

kernel_components as (
    select
        cluster_id,
        node_id,
        observed_at,
        unnest(components) as component
    from {{ ref('inp_fault_events_named') }}
    where source = 'kernel' and severity != 'info'
),

found as (
    select
        onsets.onset,
        min(struct_pack(
            occurred_at := faults.occurred_at,
            component := faults.component,
            probability := faults.probability,
            is_new := faults.is_new
        )) filter (faults.occurred_at <= least(onsets.back_at, onsets.seen_to_at)) as fault,
        bool_or(coalesce(messages.observed_at <= onsets.observed_at + interval 5 minute, false)) as is_logged
    from onset_components as onsets
    asof left join {{ ref('inp_component_faults_listed') }} as faults
        on
            onsets.cluster_id = faults.cluster_id
            and onsets.node_id = faults.node_id
            and onsets.component = faults.component
            and onsets.observed_at - interval 10 minute <= faults.occurred_at
    asof left join kernel_components as messages
        on
            onsets.cluster_id = messages.cluster_id
            and onsets.node_id = messages.node_id
            and onsets.component = messages.component
            and onsets.observed_at - interval 5 minute <= messages.observed_at
    group by onsets.onset
),

-- Probability that each event ended an attempt. None if Slurm names the node.
attributed as (
    select
        cluster_id,
        evidence.event_id as fault_id,
        max(coalesce(evidence.probability, failures.posterior_probability)) as probability
    from {{ ref('fct_failure_evidence') }} as evidence
    inner join {{ ref('fct_failures') }} as failures using (cluster_id, attempt_id)
    inner join {{ ref('dim_clusters') }} as clusters using (cluster_id)
    where failures.failed_at between clusters.study_from_at and clusters.study_to_at
    group by cluster_id, evidence.event_id
),

-- A failure follows its own evidence immediately.
followed as (
    select
        onsets.*,
        coalesce(found.fault, if(
            attributed.probability is null and onsets.interrupted_at <= onsets.seen_to_at,
            struct_pack(
                occurred_at := onsets.interrupted_at, component := 'interruption', probability := 1, is_new := true
            ),
            null
        )) as fault,
        coalesce(found.is_logged, false) as is_logged,
        greatest(attributed.probability, found.fault.probability) as probability,
        greatest(onsets.observed_at, least(
            coalesce(
                found.fault.occurred_at, if(attributed.probability is null, onsets.seen_to_at, onsets.observed_at)
            ),
            onsets.interrupted_at,
            onsets.seen_to_at
        )) as until_at
    from onsets
    left join found using (onset)
    left join attributed using (cluster_id, fault_id)
),

-- A job survived what its node showed until then.
surviving_jobs as (
    select
        hash(attempt_nodes.cluster_id, attempt_nodes.node_id) as node_key,
        attempts.started_at,
        date_trunc('day', attempts.started_at) as day_at,
        coalesce(attempts.ended_at, clusters.study_to_at)
        - if(attempts.state = 'COMPLETED', to_seconds(configured.attribution_before_seconds), interval 1 hour)
            as survived_until_at
    from {{ ref('fct_attempts') }} as attempts
    inner join {{ ref('dim_clusters') }} as clusters using (cluster_id)
    inner join {{ ref('stg_config__clusters') }} as configured using (cluster_id)
    inner join {{ ref('fct_attempt_nodes') }} as attempt_nodes using (cluster_id, attempt_id)
    where attempts.started_at <= survived_until_at
),

-- Group jobs by days without onsets: fewer days than jobs have to be sorted.
jobs_and_onsets as (
    select
        node_key,
        day_at + interval 1 day as tells_at,
        max(survived_until_at) as survived_until_at,
        null as onset
    from surviving_jobs
    group by node_key, day_at
    union all
    select
        node_key,
        started_at as tells_at,
        survived_until_at,
        null as onset
    from surviving_jobs
    semi join onsets
        on
            surviving_jobs.node_key = hash(onsets.cluster_id, onsets.node_id)
            and surviving_jobs.day_at = date_trunc('day', onsets.observed_at)
    union all
    select
        hash(cluster_id, node_id) as node_key,
        observed_at as tells_at,
        null as survived_until_at,
        onset
    from onsets
),

survived as (
    select
        onset,
        tells_at <= max(survived_until_at) over (partition by node_key order by tells_at) as is_survived
    from jobs_and_onsets
    qualify onset is not null
),

weeks_in_use as (
    select
        cluster_id,
        node_id,
        day_date,
        sum(in_use_hours) over (
            partition by cluster_id, node_id
            order by day_date range between current row and interval 6 days following
        ) as in_use_hours
    from {{ ref('fct_node_days') }}
)

select
    followed.onset,
    followed.cluster_id,
    followed.node_id,
    followed.check_key,
    followed.severity,
    followed.components,
    followed.observed_at,
    followed.until_at,
    followed.fault,
    followed.probability is not null as is_followed,
    coalesce(survived.is_survived, false) as is_survived,
    case
        when followed.probability is not null then followed.probability
        -- Half of 7 calendar days from the onset's day.
        when followed.until_at = followed.observed_at + interval 7 day and weeks_in_use.in_use_hours >= 84 then 0
        when followed.is_logged then 1
    end as probability
from followed
left join survived using (onset)
left join weeks_in_use
    on
        followed.cluster_id = weeks_in_use.cluster_id
        and followed.node_id = weeks_in_use.node_id
        and cast(followed.observed_at as date) = weeks_in_use.day_date
