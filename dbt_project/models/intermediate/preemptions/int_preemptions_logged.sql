-- Long, because a line names the preempted job, but not always its instigator. Then neighbouring lines name it.
with

preemption_lines as (

    select
        *,
        coalesce(cast(instigator_job_id_raw as string), cast(instigator_array_job_id as string) || '_*') as instigator
    from {{ ref('stg_slurmctld__events') }}
    where kind in ('preempted', 'preempted_without_instigator')

),

jobs_named as (

    select
        cluster_id,
        job_id_raw
    from preemption_lines
    union
    select
        cluster_id,
        instigator_job_id_raw as job_id_raw
    from preemption_lines

),

arrays_named as (

    select distinct
        cluster_id,
        instigator_array_job_id as array_job_id
    from preemption_lines
    where instigator_array_job_id is not null

),

attempts as (

    select * from {{ ref('int_attempts') }}
    where
        (cluster_id, job_id_raw) in (
            select
                cluster_id,
                job_id_raw
            from jobs_named
        )
        or (cluster_id, array_job_id) in (
            select
                cluster_id,
                array_job_id
            from arrays_named
        )

),

-- A line belongs to the job's attempt that ended nearest to it: a victim may be requeued, run again and be preempted
-- again within the two minutes.
nearest_attempts as (

    select
        attempts.cluster_id,
        attempts.attempt_id,
        preemption_lines.logged_at,
        preemption_lines.instigator,
        preemption_lines.preempt_mode,
        preemption_lines.source_path,
        preemption_lines.source_line_number,
        abs({{ seconds_between('attempts.ended_at', 'preemption_lines.logged_at') }}) as distance_seconds
    from preemption_lines
    inner join attempts
        on
            preemption_lines.cluster_id = attempts.cluster_id
            and preemption_lines.job_id_raw = attempts.job_id_raw
            and abs({{ seconds_between('attempts.ended_at', 'preemption_lines.logged_at') }}) <= 120
    where
        attempts.is_terminal
        and attempts.state = 'PREEMPTED'
    qualify
        row_number() over (
            partition by
                preemption_lines.cluster_id, preemption_lines.source_path, preemption_lines.source_line_number
            order by
                abs({{ seconds_between('attempts.ended_at', 'preemption_lines.logged_at') }}),
                attempts.ended_at,
                attempts.attempt_id
        ) = 1

),

-- An attempt belongs to the line nearest to its end.
victim_lines as (

    select
        cluster_id,
        attempt_id,
        logged_at,
        instigator,
        preempt_mode
    from nearest_attempts
    qualify
        row_number() over (
            partition by cluster_id, attempt_id
            order by instigator is null, distance_seconds, logged_at, source_path, source_line_number
        ) = 1

),

instigators_named as (

    select distinct
        cluster_id,
        logged_at,
        instigator,
        instigator_job_id_raw,
        instigator_array_job_id
    from preemption_lines
    where instigator is not null

),

-- Other tasks of an array may have started within the minute that a single job has.
instigator_candidates as (

    select
        instigators_named.cluster_id,
        instigators_named.logged_at,
        instigators_named.instigator,
        attempts.attempt_id,
        attempts.started_at
    from instigators_named
    inner join attempts
        on
            instigators_named.cluster_id = attempts.cluster_id
            and instigators_named.instigator_job_id_raw = attempts.job_id_raw
            -- A later job that reuses the number is another job.
            and instigators_named.logged_at >= attempts.submitted_at
            and (
                instigators_named.logged_at - interval 60 second <= attempts.started_at
                -- Still waiting, or withdrawn before it got the nodes: it is the instigator nevertheless.
                or (
                    attempts.started_at is null
                    and instigators_named.logged_at - interval 2 second
                    <= coalesce(attempts.ended_at, instigators_named.logged_at)
                )
            )

    union all

    select
        instigators_named.cluster_id,
        instigators_named.logged_at,
        instigators_named.instigator,
        attempts.attempt_id,
        attempts.started_at
    from instigators_named
    inner join attempts
        on
            instigators_named.cluster_id = attempts.cluster_id
            and instigators_named.instigator_array_job_id = attempts.array_job_id
            and instigators_named.logged_at >= attempts.submitted_at
            and instigators_named.logged_at - interval 2 second <= attempts.started_at

),

-- The instigator starts next: the job itself or, for an array, its first task to start.
instigator_attempts as (

    select * from instigator_candidates
    qualify
        row_number() over (
            partition by cluster_id, logged_at, instigator
            order by started_at asc nulls last, attempt_id asc
        ) = 1

),

named as (

    select
        victim_lines.cluster_id,
        victim_lines.attempt_id,
        victim_lines.logged_at,
        victim_lines.preempt_mode,
        instigator_attempts.attempt_id as instigator_attempt_id,
        true as is_named,
        false as is_inferred
    from victim_lines
    left join instigator_attempts
        on
            victim_lines.cluster_id = instigator_attempts.cluster_id
            and victim_lines.logged_at = instigator_attempts.logged_at
            and victim_lines.instigator = instigator_attempts.instigator
    where victim_lines.instigator is not null

),

-- Two-second slots turn "logged within two seconds" into an equality, which scales where a range does not.
unnamed_victim_slots as (

    select
        cluster_id,
        attempt_id,
        logged_at,
        {{ unnest_integer_range(time_slot('logged_at', 2) ~ ' - 1', time_slot('logged_at', 2) ~ ' + 1') }} as slot
    from victim_lines
    where instigator is null

),

-- slurmctld preempts for one job at a time: a victim without a named instigator shares that of its neighbouring lines.
logged_around as (

    select
        unnamed_victim_slots.cluster_id,
        unnamed_victim_slots.attempt_id,
        instigator_attempts.attempt_id as instigator_attempt_id,
        min(abs({{ seconds_between('unnamed_victim_slots.logged_at', 'instigator_attempts.logged_at') }}))
            as distance_seconds
    from unnamed_victim_slots
    inner join instigator_attempts
        on
            unnamed_victim_slots.cluster_id = instigator_attempts.cluster_id
            and unnamed_victim_slots.slot = {{ time_slot('instigator_attempts.logged_at', 2) }}
            and abs({{ seconds_between('unnamed_victim_slots.logged_at', 'instigator_attempts.logged_at') }}) <= 2
    group by unnamed_victim_slots.cluster_id, unnamed_victim_slots.attempt_id, instigator_attempts.attempt_id

),

instigators_inferred as (

    select
        logged_around.cluster_id,
        logged_around.attempt_id,
        logged_around.instigator_attempt_id
    from logged_around
    inner join attempts as victims
        on
            logged_around.cluster_id = victims.cluster_id
            and logged_around.attempt_id = victims.attempt_id
    inner join attempts as instigators
        on
            logged_around.cluster_id = instigators.cluster_id
            and logged_around.instigator_attempt_id = instigators.attempt_id
            and {{ lists_overlap('victims.node_ids', 'instigators.node_ids') }}
    qualify
        row_number() over (
            partition by logged_around.cluster_id, logged_around.attempt_id
            order by logged_around.distance_seconds, logged_around.instigator_attempt_id
        ) = 1

),

beside_named as (

    select
        victim_lines.cluster_id,
        victim_lines.attempt_id,
        victim_lines.logged_at,
        victim_lines.preempt_mode,
        instigators_inferred.instigator_attempt_id,
        false as is_named,
        instigators_inferred.attempt_id is not null as is_inferred
    from victim_lines
    left join instigators_inferred
        on
            victim_lines.cluster_id = instigators_inferred.cluster_id
            and victim_lines.attempt_id = instigators_inferred.attempt_id
    where victim_lines.instigator is null

)

select * from named
union all
select * from beside_named
