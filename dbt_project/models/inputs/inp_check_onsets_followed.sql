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
            at := faults.occurred_at,
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

-- The probability of each event to have ended an attempt; there is none where Slurm names the node.
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

-- A failure follows its own evidence at once.
followed as (
    select
        onsets.*,
        coalesce(found.fault, if(
            attributed.probability is null and onsets.interrupted_at <= onsets.seen_to_at,
            struct_pack(at := onsets.interrupted_at, component := 'interruption', probability := 1, is_new := true),
            null
        )) as fault,
        coalesce(found.is_logged, false) as is_logged,
        greatest(attributed.probability, found.fault.probability) as probability,
        greatest(onsets.observed_at, least(
            coalesce(found.fault.at, if(attributed.probability is null, onsets.seen_to_at, onsets.observed_at)),
            onsets.interrupted_at,
            onsets.seen_to_at
        )) as until_at
    from onsets
    left join found using (onset)
    left join attributed using (cluster_id, fault_id)
),

jobs as (
    select
        attempt_nodes.cluster_id,
        attempt_nodes.node_id,
        attempts.started_at,
        coalesce(attempts.ended_at, clusters.study_to_at) as ended_at,
        -- A job survived what its node showed up to a moment.
        coalesce(attempts.ended_at, clusters.study_to_at)
        - if(attempts.state = 'COMPLETED', to_seconds(configured.attribution_before_seconds), interval 1 hour)
            as survived_until_at,
        max(coalesce(attempts.ended_at, clusters.study_to_at)) over (
            partition by attempt_nodes.cluster_id, attempt_nodes.node_id
            order by attempts.started_at, attempts.ended_at rows between unbounded preceding and 1 preceding
        ) as earlier_ended_at
    from {{ ref('fct_attempts') }} as attempts
    inner join {{ ref('fct_attempt_nodes') }} as attempt_nodes using (cluster_id, attempt_id)
    inner join {{ ref('dim_clusters') }} as clusters using (cluster_id)
    inner join {{ ref('stg_config__clusters') }} as configured using (cluster_id)
    semi join onsets
        on attempt_nodes.cluster_id = onsets.cluster_id and attempt_nodes.node_id = onsets.node_id
),

-- Jobs that share a node use it once.
jobs_so_far as (
    select
        cluster_id,
        node_id,
        started_at,
        max(ended_at) over so_far as ended_at,
        max(survived_until_at) over so_far as survived_until_at,
        sum(greatest(epoch(ended_at - greatest(started_at, earlier_ended_at)), 0)) over so_far as used_seconds
    from jobs
    window so_far as (partition by cluster_id, node_id order by started_at)
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
    coalesce(first_jobs.survived_until_at >= followed.observed_at, false) as is_survived,
    case
        when followed.probability is not null then followed.probability
        -- In use for half of the 7 days at least.
        when
            followed.until_at = followed.observed_at + interval 7 day
            and last_jobs.used_seconds - greatest(epoch(last_jobs.ended_at - followed.until_at), 0)
            - coalesce(first_jobs.used_seconds - greatest(epoch(first_jobs.ended_at - followed.observed_at), 0), 0)
            >= 3.5 * 86400
            then 0
        when followed.is_logged then 1
    end as probability
from followed
asof left join jobs_so_far as first_jobs
    on
        followed.cluster_id = first_jobs.cluster_id
        and followed.node_id = first_jobs.node_id
        and followed.observed_at >= first_jobs.started_at
asof left join jobs_so_far as last_jobs
    on
        followed.cluster_id = last_jobs.cluster_id
        and followed.node_id = last_jobs.node_id
        and followed.until_at >= last_jobs.started_at
