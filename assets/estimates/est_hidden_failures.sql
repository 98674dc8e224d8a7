-- Ends that Slurm does not blame on a node, by user and size: on each node against elsewhere, and after critical events
-- against attempts of the same age without one; and GPUs that were held without use. One row per stratum and node; one
-- per stratum, category and age; one per cluster whose accounting carries the utilisation of GPUs.
with clusters as (
    select
        cluster_id,
        study_from_at,
        study_to_at
    from marts.dim_clusters
),

-- A failure that is attributed already is not hidden, and planned work is no failure.
attempts as (
    select
        attempts.cluster_id,
        attempts.attempt_id,
        attempts.user_name,
        attempts.partition,
        attempts.gpu_size_bin,
        attempts.node_count,
        -- What bears one name is one job of a day, however often it is started again.
        hash(coalesce(attempts.job_name, attempts.run_id), cast(attempts.started_at as date)) as job,
        attempts.started_at,
        attempts.ended_at,
        attempts.runtime_seconds,
        attempts.state
    from marts.fct_attempts as attempts
    inner join clusters using (cluster_id)
    where
        attempts.is_terminal
        and attempts.state in ('COMPLETED', 'FAILED', 'TIMEOUT', 'CANCELLED', 'OUT_OF_MEMORY')
        and not attempts.is_infrastructure_failure
        and attempts.end_reason is distinct from 'planned'
        and attempts.user_name is not null
        and attempts.node_count > 0
        and attempts.ended_at > clusters.study_from_at
        and attempts.ended_at <= clusters.study_to_at
),

strata as (
    select
        *,
        dense_rank() over (order by cluster_id, user_name) as user_number,
        row_number() over (order by cluster_id, user_name, partition, gpu_size_bin, node_count) as stratum
    from (select distinct cluster_id, user_name, partition, gpu_size_bin, node_count from attempts)
),

ends as (
    select
        attempts.cluster_id,
        attempts.attempt_id,
        strata.stratum,
        attempts.job,
        attempts.started_at,
        attempts.ended_at,
        attempts.runtime_seconds,
        attempts.state = 'FAILED' and attempts.runtime_seconds < 300 as is_failed_early,
        attempts.state = 'FAILED' and attempts.runtime_seconds >= 300 as is_failed_late,
        attempts.state = 'TIMEOUT' as is_timeout,
        attempts.state = 'CANCELLED' as is_cancelled,
        attempts.state not in ('COMPLETED', 'OUT_OF_MEMORY') as has_ended_badly
    from attempts
    inner join strata
        on
            attempts.cluster_id = strata.cluster_id
            and attempts.user_name = strata.user_name
            and attempts.partition is not distinct from strata.partition
            and attempts.gpu_size_bin is not distinct from strata.gpu_size_bin
            and attempts.node_count = strata.node_count
),

ends_on_nodes as (
    select
        ends.*,
        attempt_nodes.node_id
    from ends
    inner join marts.fct_attempt_nodes as attempt_nodes using (cluster_id, attempt_id)
),

jobs_on_nodes as (
    select
        stratum,
        job,
        node_id,
        count(*) as attempt_count,
        count(*) filter (where columns('^is_')) as "\0"
    from ends_on_nodes
    group by stratum, job, node_id
),

-- A job counts once on each of its nodes, and so do its attempts together in the sum over nodes.
weighed_jobs as (
    select
        *,
        count(*) over job_of_stratum / sum(attempt_count) over job_of_stratum as weight
    from jobs_on_nodes
    window job_of_stratum as (partition by stratum, job)
),

nodes as (
    select
        stratum,
        node_id,
        count(*) as end_count,
        sum(weight * attempt_count) as weight,
        sum(columns('^is_')) as "attempts_\0",
        sum(columns('^is_') / attempt_count) as "\0",
        sum(columns('^is_') * weight) as "weight_\0"
    from weighed_jobs
    group by stratum, node_id
),

-- The first critical event of each category while an attempt ran, and its age then: classes double from 17 minutes on.
struck as (
    select
        ends.attempt_id,
        ends.stratum,
        events.failure_category,
        greatest(9, min(cast(floor(log2(epoch(events.observed_at - ends.started_at))) as integer))) as age_class
    from marts.fct_health_events as events
    inner join ends_on_nodes as ends
        on
            events.cluster_id = ends.cluster_id
            and events.node_id = ends.node_id
            and events.observed_at > ends.started_at
            and events.observed_at < ends.ended_at
    where events.is_evidence
    group by ends.attempt_id, ends.stratum, events.failure_category
),

ages as (
    select distinct
        stratum,
        failure_category,
        age_class,
        if(age_class = 9, 0, 2 ** age_class) as from_seconds,
        2 ** (age_class + 1) as to_seconds
    from struck
),

-- An attempt that was not struck up to this age counts by the share of the class that it ran: so likely it was to be
-- struck there.
reached as (
    select
        ages.stratum,
        ages.failure_category,
        ages.age_class,
        ends.job,
        ends.attempt_id,
        ends.has_ended_badly,
        coalesce(struck.age_class = ages.age_class, false) as is_struck,
        if(
            is_struck, 1, least(1, (ends.runtime_seconds - ages.from_seconds) / (ages.to_seconds - ages.from_seconds))
        ) as weight
    from ages
    inner join ends using (stratum)
    left join struck
        on ends.attempt_id = struck.attempt_id and ages.failure_category = struck.failure_category
    where coalesce(struck.age_class, 99) >= ages.age_class and (is_struck or ends.runtime_seconds > ages.from_seconds)
),

-- The attempts of a job are one job together, on whichever side each of them is.
jobs_reached as (
    select
        stratum,
        failure_category,
        age_class,
        job,
        count(*) filter (where is_struck and has_ended_badly) as attempts_is_after,
        count(*) filter (where is_struck) / count(*) as end_count,
        attempts_is_after / count(*) as is_after,
        coalesce(sum(weight order by attempt_id) filter (where not is_struck), 0) / count(*) as weight,
        coalesce(sum(weight order by attempt_id) filter (where not is_struck and has_ended_badly), 0) / count(*)
            as weight_is_after
    from reached
    group by stratum, failure_category, age_class, job
),

after_events as (
    select
        stratum,
        failure_category,
        sum(columns(* exclude (stratum, failure_category, age_class, job)) order by job)
    from jobs_reached
    group by stratum, failure_category, age_class
),

-- A job that computes uses its GPUs for more than a twentieth of its time.
idle_gpus as (
    select
        attempts.cluster_id,
        sum(attempts.gpu_hours) as end_count,
        coalesce(sum(attempts.gpu_hours) filter (where attempts.gpu_utilisation < 0.05), 0) as held_gpu_hours,
        count(*) filter (where attempts.gpu_utilisation < 0.05) as attempts_is_idle,
        count(distinct attempts.user_name) filter (where attempts.gpu_utilisation < 0.05) as user_number
    from marts.fct_attempts as attempts
    inner join clusters using (cluster_id)
    where
        attempts.gpu_utilisation is not null
        and attempts.gpu_hours > 0
        and attempts.ended_at > clusters.study_from_at
        and attempts.ended_at <= clusters.study_to_at
    group by attempts.cluster_id
)

select
    strata.cluster_id,
    strata.user_number,
    strata.node_count,
    compared.*
from (
    select * from nodes
    union all by name
    select * from after_events
) as compared
inner join strata using (stratum)
union all by name
select * from idle_gpus
order by stratum, node_id, failure_category, end_count, weight
