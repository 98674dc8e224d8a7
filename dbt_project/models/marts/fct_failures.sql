with

judged as (

    select * from {{ ref('int_failures_judged') }}

),

failures as (

    select * from judged
    where evidence_rank = 1

),

-- A failure that is more likely a coincidence joins no other.
likely_failures as (

    select * from failures
    where posterior_probability >= 0.5

),

covered_nodes as (

    select * from {{ ref('int_failures_covered') }}

),

-- Days covered by health checks.
checked_days as (

    select
        cluster_id,
        day_date
    from {{ ref('int_days_covered') }}
    where kind = 'health'

),

multi_node_onsets as (

    select * from {{ ref('int_multi_node_onsets') }}

),

het_failures as (

    select * from {{ ref('int_het_failures_joined') }}

),

chained_jobs as (

    select * from {{ ref('int_jobs_chained') }}

),

het_jobs as (

    select * from {{ ref('int_het_jobs_sized') }}

),

clusters as (

    select * from {{ ref('stg_config__clusters') }}

),

covered as (

    select distinct
        failures.cluster_id,
        failures.attempt_id
    from failures
    inner join covered_nodes
        on
            failures.cluster_id = covered_nodes.cluster_id
            and failures.attempt_id = covered_nodes.attempt_id
            and coalesce(failures.culprit_node_id, covered_nodes.node_id) = covered_nodes.node_id

),

-- A switch or storage event over several nodes, in which the failure's cause began on its culprit.
shared_events as (

    select distinct
        failures.cluster_id,
        failures.attempt_id,
        failures.failed_at,
        multi_node_onsets.shared_event_id
    from likely_failures as failures
    inner join judged as causes
        on
            failures.cluster_id = causes.cluster_id
            and failures.attempt_id = causes.attempt_id
            and failures.failure_category = causes.failure_category
            and failures.culprit_node_id is not distinct from causes.culprit_node_id
    inner join multi_node_onsets
        on
            failures.cluster_id = multi_node_onsets.cluster_id
            and failures.failure_category = multi_node_onsets.failure_category
            and coalesce(causes.event_id, failures.attempt_id) = multi_node_onsets.onset_id

),

first_shared_events as (

    select
        cluster_id,
        attempt_id,
        min(shared_event_id) as shared_event_id
    from shared_events
    group by cluster_id, attempt_id

),

incidents as (

    {{ incidents_of_failures(
        'failures', 'likely_failures', 'shared_events', 'het_failures', 'chained_jobs'
    ) | indent(4) }}

)

select
    failures.cluster_id,
    failures.attempt_id,
    coalesce(chained_jobs.run_id, failures.job_key) as run_id,
    failures.user_name,
    failures.account,
    failures.partition,
    failures.qos,
    failures.failed_at,
    failures.state,
    failures.failure_category,
    failures.attribution_rule,
    failures.is_attributed,
    failures.posterior_probability,
    case
        when covered.attempt_id is not null then true
        when checked_days.cluster_id is not null then false
    end as has_coverage,
    failures.culprit_node_id,
    failures.is_culprit_named,
    cast(failures.evidence_count as integer) as evidence_count,
    failures.event_id as primary_event_id,
    incidents.incident_id,
    first_shared_events.shared_event_id,
    failures.runtime_seconds,
    cast(failures.node_count as integer) as node_count,
    failures.gpu_count,
    {{ gpu_size_bin(job_gpu_count('failures', 'het_jobs')) }} as gpu_size_bin,
    {{ lost_gpu_hours('failures.runtime_seconds', 'failures.gpu_count', 'clusters.checkpoint_minutes') }}
        as lost_gpu_hours
from failures
inner join clusters on failures.cluster_id = clusters.cluster_id
inner join incidents
    on
        failures.cluster_id = incidents.cluster_id
        and failures.attempt_id = incidents.attempt_id
left join covered
    on
        failures.cluster_id = covered.cluster_id
        and failures.attempt_id = covered.attempt_id
left join checked_days
    on
        failures.cluster_id = checked_days.cluster_id
        and cast(failures.failed_at - {{ seconds_interval('clusters.attribution_before_seconds') }} as date)
        = checked_days.day_date
left join first_shared_events
    on
        failures.cluster_id = first_shared_events.cluster_id
        and failures.attempt_id = first_shared_events.attempt_id
left join chained_jobs
    on
        failures.cluster_id = chained_jobs.cluster_id
        and failures.job_key = chained_jobs.job_key
left join het_jobs
    on
        failures.cluster_id = het_jobs.cluster_id
        and failures.attempt_id = het_jobs.attempt_id
