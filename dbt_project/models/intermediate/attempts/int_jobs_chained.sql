with recursive

links as (

    select * from {{ ref('int_jobs_linked') }}

),

-- A first job points to itself.
jobs as (

    select
        cluster_id,
        job_key,
        attempt_count,
        last_attempt_id,
        submitted_at,
        started_at,
        previous_job_key
    from links

    union all

    select
        links.cluster_id,
        links.previous_job_key as job_key,
        links.previous_attempt_count as attempt_count,
        links.previous_last_attempt_id as last_attempt_id,
        links.previous_submitted_at as submitted_at,
        links.previous_started_at as started_at,
        links.previous_job_key
    from links
    left join links as earlier_links on links.previous_job_key = earlier_links.job_key
    where earlier_links.job_key is null

),

-- Each pass looks twice as far back, so a chain of a thousand jobs needs ten passes.
pointers as (

    select
        job_key,
        previous_job_key as earlier_job_key,
        true as is_changed,
        0 as pass
    from jobs

    union all

    select
        near.job_key,
        far.earlier_job_key,
        near.earlier_job_key != far.earlier_job_key as is_changed,
        near.pass + 1 as pass
    from pointers as near
    inner join pointers as far on near.earlier_job_key = far.job_key
    where
        exists (
            select 1
            from pointers as unfinished
            where unfinished.is_changed
        )

),

linked_jobs as (

    select
        job_key,
        earlier_job_key as run_id
    from pointers
    where pass = (select max(last_pass.pass) from pointers as last_pass)

)

select
    jobs.cluster_id,
    jobs.job_key,
    linked_jobs.run_id,
    lag(jobs.last_attempt_id) over run_jobs as previous_attempt_id,
    lead(jobs.job_key) over run_jobs is null as is_last_of_run,
    cast(coalesce(sum(jobs.attempt_count) over (
        partition by linked_jobs.run_id
        order by jobs.started_at nulls last, jobs.submitted_at
        rows between unbounded preceding and 1 preceding
    ), 0) as bigint) as earlier_attempt_count
from linked_jobs
inner join jobs on linked_jobs.job_key = jobs.job_key
window run_jobs as (
    partition by linked_jobs.run_id
    order by jobs.started_at nulls last, jobs.submitted_at
)
