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

chained_jobs as (

    select * from {{ ref('int_jobs_chained') }}

),

het_jobs as (

    select * from {{ ref('int_het_jobs_sized') }}

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
    {{ gpu_size_bin(job_gpu_count('failures', 'het_jobs')) }} as gpu_size_bin,
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
left join chained_jobs
    on
        failures.cluster_id = chained_jobs.cluster_id
        and failures.job_key = chained_jobs.job_key
left join het_jobs
    on
        failures.cluster_id = het_jobs.cluster_id
        and failures.attempt_id = het_jobs.attempt_id
left join clusters on failures.cluster_id = clusters.cluster_id
