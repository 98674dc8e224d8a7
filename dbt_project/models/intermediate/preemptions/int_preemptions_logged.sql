with

attempts as (

    select * from {{ ref('int_attempts_resolved') }}

),

preemption_lines as (

    select * from {{ ref('stg_slurmctld__events') }}
    where kind in ('preempted', 'preempted_without_instigator')

),

-- A line belongs to the attempt of the job that ended nearest to it, and an attempt to the line nearest to its end.
victim_lines as (

    select
        attempts.cluster_id,
        attempts.attempt_id,
        attempts.node_ids,
        preemption_lines.logged_at,
        preemption_lines.instigator_job_id_raw,
        preemption_lines.preempt_mode
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
            partition by attempts.cluster_id, attempts.attempt_id
            order by
                preemption_lines.instigator_job_id_raw is null,
                abs({{ seconds_between('attempts.ended_at', 'preemption_lines.logged_at') }}),
                preemption_lines.logged_at,
                preemption_lines.source_path,
                preemption_lines.source_line_number
        ) = 1

),

instigators_named as (

    select distinct
        cluster_id,
        logged_at,
        instigator_job_id_raw
    from preemption_lines
    where instigator_job_id_raw is not null

),

instigator_attempts as (

    select
        instigators_named.cluster_id,
        instigators_named.logged_at,
        instigators_named.instigator_job_id_raw,
        attempts.attempt_id,
        attempts.node_ids
    from instigators_named
    inner join attempts
        on
            instigators_named.cluster_id = attempts.cluster_id
            and instigators_named.instigator_job_id_raw = attempts.job_id_raw
            and instigators_named.logged_at - interval 60 second <= attempts.started_at
    qualify
        row_number() over (
            partition by
                instigators_named.cluster_id, instigators_named.logged_at, instigators_named.instigator_job_id_raw
            order by attempts.started_at, attempts.attempt_id
        ) = 1

),

named as (

    select
        victim_lines.cluster_id,
        victim_lines.attempt_id,
        victim_lines.logged_at,
        victim_lines.preempt_mode,
        instigator_attempts.attempt_id as instigator_attempt_id,
        false as is_inferred
    from victim_lines
    left join instigator_attempts
        on
            victim_lines.cluster_id = instigator_attempts.cluster_id
            and victim_lines.logged_at = instigator_attempts.logged_at
            and victim_lines.instigator_job_id_raw = instigator_attempts.instigator_job_id_raw
    where victim_lines.instigator_job_id_raw is not null

),

-- slurmctld makes room for one job at a time: a victim whose line names nobody fell with those logged around it.
beside_named as (

    select
        victim_lines.cluster_id,
        victim_lines.attempt_id,
        victim_lines.logged_at,
        victim_lines.preempt_mode,
        instigator_attempts.attempt_id as instigator_attempt_id,
        instigator_attempts.attempt_id is not null as is_inferred
    from victim_lines
    left join instigator_attempts
        on
            victim_lines.cluster_id = instigator_attempts.cluster_id
            and abs({{ seconds_between('victim_lines.logged_at', 'instigator_attempts.logged_at') }}) <= 2
            and list_has_any(victim_lines.node_ids, instigator_attempts.node_ids)
    where victim_lines.instigator_job_id_raw is null
    qualify
        row_number() over (
            partition by victim_lines.cluster_id, victim_lines.attempt_id
            order by
                abs({{ seconds_between('victim_lines.logged_at', 'instigator_attempts.logged_at') }}),
                instigator_attempts.attempt_id
        ) = 1

)

select * from named
union all
select * from beside_named
