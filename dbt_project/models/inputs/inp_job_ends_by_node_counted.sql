with clusters as (
    select
        cluster_id,
        study_from_at,
        study_to_at
    from {{ ref('dim_clusters') }}
),

-- An attributed failure is not hidden. Planned work and a lack of machines are no failures.
ends as (
    select
        attempts.cluster_id,
        attempts.attempt_id,
        attempts.node_count,
        hash(attempts.cluster_id, attempts.user_name) as user_key,
        hash(
            hash(attempts.cluster_id, attempts.user_name),
            attempts.partition,
            attempts.gpu_size_bin,
            attempts.node_count
        ) as stratum,
        -- Starts of one name on one day are one job.
        hash(coalesce(attempts.job_name, attempts.run_id), cast(attempts.started_at as date)) as job,
        attempts.state = 'FAILED' and attempts.runtime_seconds < 300 as is_failed_early,
        attempts.state = 'TIMEOUT' as is_timeout
    from {{ ref('fct_attempts') }} as attempts
    inner join clusters using (cluster_id)
    where
        attempts.is_terminal
        and attempts.state in ('COMPLETED', 'FAILED', 'TIMEOUT', 'CANCELLED', 'OUT_OF_MEMORY')
        and not attempts.is_infrastructure_failure
        and attempts.end_reason is null
        and attempts.user_name is not null
        and attempts.node_count > 0
        and attempts.ended_at > clusters.study_from_at
        and attempts.ended_at <= clusters.study_to_at
),

strata as (
    select
        stratum,
        any_value(cluster_id) as cluster_id,
        any_value(user_key) as user_key,
        any_value(node_count) as node_count,
        bool_or(is_failed_early or is_timeout) as has_bad_ends
    from ends
    group by stratum
),

jobs_on_nodes as (
    select
        ends.stratum,
        ends.job,
        attempt_nodes.node_id,
        count(*) as attempt_count,
        count(*) filter (where ends.is_failed_early) as is_failed_early,
        count(*) filter (where ends.is_timeout) as is_timeout
    from ends
    inner join {{ ref('fct_attempt_nodes') }} as attempt_nodes using (cluster_id, attempt_id)
    group by ends.stratum, ends.job, attempt_nodes.node_id
),

repeated_jobs as (
    select distinct
        stratum,
        job
    from jobs_on_nodes
    where attempt_count > 1
),

-- A job counts once on each of its nodes. If a node had several of its attempts, each counts less than 1.
weights as (
    select
        stratum,
        job,
        count(*) / sum(attempt_count) as weight
    from jobs_on_nodes
    semi join repeated_jobs using (stratum, job)
    group by stratum, job
),

weighed_jobs as (
    select
        jobs_on_nodes.*,
        coalesce(weights.weight, 1) as weight
    from jobs_on_nodes
    left join weights using (stratum, job)
)

select
    strata.cluster_id,
    if(strata.has_bad_ends, strata.stratum, 0) as stratum,
    jobs.node_id,
    any_value(if(strata.has_bad_ends, strata.user_key, 0)) as user_key,
    any_value(if(strata.has_bad_ends, strata.node_count, 1)) as node_count,
    count(*) as end_count,
    sum(jobs.weight * jobs.attempt_count) as weight,
    sum(jobs.is_failed_early) as attempts_is_failed_early,
    sum(jobs.is_timeout) as attempts_is_timeout,
    sum(jobs.is_failed_early / jobs.attempt_count) as is_failed_early,
    sum(jobs.is_timeout / jobs.attempt_count) as is_timeout,
    sum(jobs.is_failed_early * jobs.weight) as weight_is_failed_early,
    sum(jobs.is_timeout * jobs.weight) as weight_is_timeout
from weighed_jobs as jobs
inner join strata using (stratum)
group by strata.cluster_id, if(strata.has_bad_ends, strata.stratum, 0), jobs.node_id
