{% set release_tolerance_seconds = 5 %}

-- Long, because jobs are linked twice: by the release of a dependency, then by submission.
with

summarised_jobs as (

    select * from {{ ref('int_jobs_summarised') }}

),

clusters as (

    select * from {{ ref('stg_config__clusters') }}

),

-- Work is identified by user, name, GPUs and array task. Tasks of one array never follow each other, but task 3 of the
-- next array may follow task 3; likewise parts of heterogeneous jobs. One hash of these sorts many jobs in seconds.
jobs as (

    select
        summarised_jobs.cluster_id,
        summarised_jobs.job_key,
        summarised_jobs.attempt_count,
        summarised_jobs.last_attempt_id,
        summarised_jobs.submitted_at,
        summarised_jobs.eligible_at,
        summarised_jobs.is_dependent,
        summarised_jobs.started_at,
        summarised_jobs.ended_at,
        -- Slurm releases a dependent job within seconds of the end it waited for. It follows at its start at the
        -- latest, so it overlaps no predecessor.
        case
            when summarised_jobs.eligible_at > summarised_jobs.submitted_at
                then least(
                    summarised_jobs.eligible_at + {{ seconds_interval(release_tolerance_seconds) }},
                    coalesce(
                        summarised_jobs.started_at,
                        summarised_jobs.eligible_at + {{ seconds_interval(release_tolerance_seconds) }}
                    )
                )
        end as released_at,
        clusters.runs_chain_gap_seconds as gap_seconds,
        -- An end that a release or a submission may follow is in the same slot or in an adjacent one.
        greatest(clusters.runs_chain_gap_seconds, {{ 2 * release_tolerance_seconds }}) as slot_seconds,
        {{ hash_columns([
            'summarised_jobs.cluster_id',
            'summarised_jobs.user_name',
            'summarised_jobs.job_name',
            'summarised_jobs.array_task_id',
            'summarised_jobs.het_offset',
            'summarised_jobs.gpu_count'
        ]) }} as work_key
    from summarised_jobs
    inner join clusters on summarised_jobs.cluster_id = clusters.cluster_id
    where
        clusters.is_run_chaining
        and summarised_jobs.user_name is not null
        and summarised_jobs.job_name is not null

),

-- A job withdrawn before it ran can be followed, too. But it must have ended later than it can follow. So ends increase
-- along a chain, and no chain has a cycle.
finished_jobs as (

    select
        work_key,
        job_key,
        ended_at as event_at,
        {{ time_slot('ended_at', 'slot_seconds') }} as slot,
        {{ time_slot('ended_at', 2 * release_tolerance_seconds) }} as short_slot
    from jobs
    where
        ended_at > submitted_at
        and ended_at > coalesce(released_at, submitted_at)

),

delayed_jobs as (

    select
        work_key,
        job_key,
        is_dependent,
        eligible_at - {{ seconds_interval(release_tolerance_seconds) }} as released_after,
        released_at as event_at,
        eligible_at - {{ seconds_interval('gap_seconds') }} as not_before,
        {{ time_slot('eligible_at', 'slot_seconds') }} as slot,
        {{ unnest_integer_range(
            time_slot('eligible_at', 2 * release_tolerance_seconds) ~ ' - 1',
            time_slot('eligible_at', 2 * release_tolerance_seconds) ~ ' + 1'
        ) }} as short_slot
    from jobs
    where released_at is not null

),

-- The last pending reason is often 'Priority' by the time such a job starts. A release at the time of an end is
-- equivalent.
released_jobs as (

    select distinct
        delayed_jobs.work_key,
        delayed_jobs.job_key,
        delayed_jobs.event_at,
        delayed_jobs.slot,
        case
            when delayed_jobs.is_dependent then least(delayed_jobs.not_before, delayed_jobs.released_after)
            else delayed_jobs.released_after
        end as not_before
    from delayed_jobs
    left join finished_jobs
        on
            delayed_jobs.work_key = finished_jobs.work_key
            and delayed_jobs.short_slot = finished_jobs.short_slot
            and delayed_jobs.released_after <= finished_jobs.event_at
            and delayed_jobs.event_at >= finished_jobs.event_at
    where
        delayed_jobs.is_dependent
        or finished_jobs.job_key is not null

),

-- An end in the slot of the release, or in an adjacent one, is necessary and cheap to look up. It avoids sorting the
-- others.
jobs_near_releases as (

    select *
    from finished_jobs
    where (work_key, slot) in (
        select
            work_key,
            {{ unnest_integer_range('slot - 1', 'slot + 1') }} as slot
        from released_jobs
    )

),

release_links as (

    {{ pair_with_latest_end('jobs_near_releases', 'released_jobs') | indent(4) }}

),

unfollowed_jobs as (

    select
        finished_jobs.work_key,
        finished_jobs.job_key,
        finished_jobs.event_at,
        finished_jobs.slot
    from finished_jobs
    left join release_links on finished_jobs.job_key = release_links.previous_job_key
    where release_links.job_key is null

),

submitted_jobs as (

    select
        jobs.work_key,
        jobs.job_key,
        jobs.submitted_at as event_at,
        jobs.submitted_at - {{ seconds_interval('jobs.gap_seconds') }} as not_before,
        {{ time_slot('jobs.submitted_at', 'jobs.slot_seconds') }} as slot
    from jobs
    left join release_links on jobs.job_key = release_links.job_key
    where
        release_links.job_key is null
        and (jobs.work_key, {{ time_slot('jobs.submitted_at', 'jobs.slot_seconds') }}) in (
            select
                work_key,
                {{ unnest_integer_range('slot', 'slot + 1') }} as slot
            from unfollowed_jobs
        )

),

-- Likewise for submissions: an end in their slot or in the previous one.
followable_jobs as (

    select *
    from unfollowed_jobs
    where (work_key, slot) in (
        select
            work_key,
            {{ unnest_integer_range('slot - 1', 'slot') }} as slot
        from submitted_jobs
    )

),

submission_links as (

    {{ pair_with_latest_end('followable_jobs', 'submitted_jobs') | indent(4) }}

),

links as (

    select * from release_links
    union all
    select * from submission_links

)

-- Columns of both jobs that chains need, so that no reader scans all jobs again.
select
    jobs.cluster_id,
    jobs.job_key,
    jobs.attempt_count,
    jobs.last_attempt_id,
    jobs.submitted_at,
    jobs.started_at,
    previous_jobs.job_key as previous_job_key,
    previous_jobs.attempt_count as previous_attempt_count,
    previous_jobs.last_attempt_id as previous_last_attempt_id,
    previous_jobs.submitted_at as previous_submitted_at,
    previous_jobs.started_at as previous_started_at
from links
inner join jobs on links.job_key = jobs.job_key
inner join jobs as previous_jobs on links.previous_job_key = previous_jobs.job_key
