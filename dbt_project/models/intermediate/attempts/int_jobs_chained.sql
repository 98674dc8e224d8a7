{% set release_tolerance_seconds = 5 %}

with recursive

attempts as (

    select * from {{ ref('int_attempts_resolved') }}

),

clusters as (

    select * from {{ ref('stg_config__clusters') }}

),

-- Work is known by user, name, GPUs and array task, so that tasks of one array never follow each other while task 3 of
-- the next array may follow task 3. One number for the four is what makes millions of jobs sort in seconds.
chainable_attempts as (

    select
        attempts.cluster_id,
        attempts.job_key,
        attempts.attempt_id,
        attempts.attempt_number,
        attempts.is_last_of_job,
        attempts.submitted_at,
        attempts.eligible_at,
        attempts.started_at,
        attempts.ended_at,
        attempts.has_ended,
        coalesce(attempts.pending_reason = 'Dependency', false) as is_dependent,
        clusters.runs_chain_gap_seconds as gap_seconds,
        hash(
            attempts.cluster_id,
            attempts.user_name,
            attempts.job_name,
            attempts.array_task_id,
            case
                when attempts.started_at is not null then coalesce(attempts.gpu_count, attempts.requested_gpu_count)
                else attempts.requested_gpu_count
            end
        ) as work_key
    from attempts
    inner join clusters on attempts.cluster_id = clusters.cluster_id
    where
        clusters.is_run_chaining
        and attempts.user_name is not null
        and attempts.job_name is not null

),

-- Most jobs have one attempt and need no adding up.
jobs as (

    select
        cluster_id,
        job_key,
        work_key,
        gap_seconds,
        1 as attempt_count,
        attempt_id as last_attempt_id,
        submitted_at,
        eligible_at,
        is_dependent,
        started_at,
        ended_at
    from chainable_attempts
    where
        attempt_number = 1
        and is_last_of_job

    union all

    select
        cluster_id,
        job_key,
        min_by(work_key, attempt_number) as work_key,
        min(gap_seconds) as gap_seconds,
        count(*) as attempt_count,
        max_by(attempt_id, attempt_number) as last_attempt_id,
        min(submitted_at) as submitted_at,
        min_by(eligible_at, attempt_number) as eligible_at,
        min_by(is_dependent, attempt_number) as is_dependent,
        min(started_at) as started_at,
        case when bool_and(has_ended) then max(ended_at) end as ended_at
    from chainable_attempts
    where
        attempt_number > 1
        or not is_last_of_job
    group by cluster_id, job_key

),

-- Only a job that ran for a while can be followed: it makes the ends along a chain grow, so no chain closes on itself.
finished_jobs as (

    select
        work_key,
        job_key,
        ended_at,
        cast(floor(epoch(ended_at) / (gap_seconds + {{ release_tolerance_seconds }})) as bigint) as slot
    from jobs
    where ended_at > started_at

),

-- Slurm releases a dependent job within seconds of the end it waited for; the last pending reason often reads
-- 'Priority' by then, so a release at that very moment counts as well as the reason itself.
submissions_and_releases as (

    select
        work_key,
        job_key,
        started_at,
        gap_seconds,
        submitted_at as follows_at,
        submitted_at - to_seconds(gap_seconds) as not_before
    from jobs

    union all

    select
        work_key,
        job_key,
        started_at,
        gap_seconds,
        least(
            eligible_at + to_seconds({{ release_tolerance_seconds }}),
            coalesce(started_at, eligible_at + to_seconds({{ release_tolerance_seconds }}))
        ) as follows_at,
        eligible_at
        - to_seconds(case when is_dependent then gap_seconds else {{ release_tolerance_seconds }} end) as not_before
    from jobs
    where eligible_at > submitted_at

),

slotted_successors as (

    select
        *,
        cast(floor(epoch(follows_at) / (gap_seconds + {{ release_tolerance_seconds }})) as bigint) as slot
    from submissions_and_releases

),

-- An end in the same slot of time, or in the one before, is necessary and cheap to look up: it spares most of the sort.
successors as (

    select *
    from slotted_successors
    where (work_key, slot) in (
        select
            work_key,
            unnest([slot, slot + 1]) as slot
        from finished_jobs
    )

),

predecessors as (

    select *
    from finished_jobs
    where (work_key, slot) in (
        select
            work_key,
            unnest([slot, slot - 1]) as slot
        from successors
    )

),

nearest_predecessors as (

    select
        successors.job_key,
        predecessors.job_key as previous_job_key,
        predecessors.ended_at as previous_ended_at,
        successors.follows_at
    from successors
    asof inner join predecessors
        on
            successors.work_key = predecessors.work_key
            and successors.follows_at >= predecessors.ended_at
    where
        predecessors.ended_at >= successors.not_before
        and predecessors.job_key != successors.job_key
        and coalesce(successors.started_at >= predecessors.ended_at, true)

),

one_predecessor_each as (

    select *
    from nearest_predecessors
    qualify row_number() over (
        partition by job_key
        order by previous_ended_at desc, follows_at asc, previous_job_key asc
    ) = 1

),

links as (

    select
        job_key,
        previous_job_key
    from one_predecessor_each
    qualify row_number() over (
        partition by previous_job_key
        order by follows_at, job_key
    ) = 1

),

-- Each pass looks twice as far back, so a chain of a thousand jobs needs ten passes.
pointers as (

    select
        job_key,
        previous_job_key as earlier_job_key,
        0 as pass
    from links

    union all

    select
        near.job_key,
        coalesce(far.earlier_job_key, near.earlier_job_key) as earlier_job_key,
        near.pass + 1 as pass
    from pointers as near
    left join pointers as far on near.earlier_job_key = far.job_key
    where
        exists (
            select 1
            from pointers as unfinished
            inner join pointers as further on unfinished.earlier_job_key = further.job_key
        )

),

settled_pointers as (

    select
        job_key,
        earlier_job_key as run_id
    from pointers
    where pass = (select max(last_pass.pass) from pointers as last_pass)

),

linked_jobs as (

    select
        job_key,
        run_id
    from settled_pointers

    union all

    select distinct
        run_id as job_key,
        run_id
    from settled_pointers

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
