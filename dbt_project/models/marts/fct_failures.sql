with

failures as (

    select * from {{ ref('int_failures_attributed') }}

),

coverage as (

    select * from {{ ref('int_failures_covered') }}

),

incidents as (

    select * from {{ ref('int_failures_grouped') }}

),

clusters as (

    select
        cluster_id,
        checkpoint_minutes
    from {{ ref('stg_config__clusters') }}

)

select
    failures.cluster_id,
    failures.attempt_id,
    failures.failed_at,
    failures.state,
    failures.failure_category,
    failures.attribution_rule,
    failures.is_attributed,
    failures.posterior_probability,
    coverage.has_coverage,
    failures.culprit_node_id,
    failures.is_culprit_named,
    cast(failures.evidence_count as integer) as evidence_count,
    failures.primary_event_id,
    incidents.incident_id,
    incidents.shared_event_id,
    failures.runtime_seconds,
    cast(failures.node_count as integer) as node_count,
    failures.gpu_count,
    {{ lost_gpu_hours('failures.runtime_seconds', 'failures.gpu_count', 'clusters.checkpoint_minutes') }}
        as lost_gpu_hours
from failures
inner join coverage
    on
        failures.cluster_id = coverage.cluster_id
        and failures.attempt_id = coverage.attempt_id
inner join incidents
    on
        failures.cluster_id = incidents.cluster_id
        and failures.attempt_id = incidents.attempt_id
left join clusters on failures.cluster_id = clusters.cluster_id
