with

attempts as (

    select * from {{ ref('int_attempts') }}

),

logged as (

    select * from {{ ref('int_preemptions_logged') }}
    -- A job named in the log is the instigator even if accounting lacks it: exports of ended jobs lack running jobs.
    where
        is_named
        or instigator_attempt_id is not null

),

failures as (

    select * from {{ ref('int_attempts_interrupted') }}
    where not is_planned

),

chained_jobs as (

    select * from {{ ref('int_jobs_chained') }}

),

victims as (

    select
        attempts.cluster_id,
        attempts.attempt_id,
        attempts.ended_at,
        attempts.node_ids
    from attempts
    left join logged
        on
            attempts.cluster_id = logged.cluster_id
            and attempts.attempt_id = logged.attempt_id
    where
        attempts.is_terminal
        and attempts.state = 'PREEMPTED'
        and logged.attempt_id is null

),

-- Ten-minute slots turn "starts within ten minutes after" into an equality, which scales where a range does not.
victim_slots as (

    select
        cluster_id,
        attempt_id,
        ended_at,
        node_id,
        {{ unnest_list(list_literal([time_slot('ended_at', 600), time_slot('ended_at', 600) ~ ' + 1'])) }} as slot
    from (
        select
            cluster_id,
            attempt_id,
            ended_at,
            {{ unnest_list('node_ids') }} as node_id
        from victims
    ) as victim_nodes

),

starts as (

    select
        cluster_id,
        attempt_id,
        started_at,
        coalesce(eligible_at, submitted_at) as waiting_since,
        {{ time_slot('started_at', 600) }} as slot,
        {{ unnest_list('node_ids') }} as node_id
    from attempts
    where (cluster_id, {{ time_slot('started_at', 600) }}) in (
        select
            cluster_id,
            slot
        from victim_slots
    )

),

candidates as (

    select
        victim_slots.cluster_id,
        victim_slots.attempt_id,
        starts.attempt_id as instigator_attempt_id,
        min({{ seconds_between('victim_slots.ended_at', 'starts.started_at') }}) as delay_seconds,
        count(*) as shared_node_count
    from victim_slots
    inner join starts
        on
            victim_slots.cluster_id = starts.cluster_id
            and victim_slots.node_id = starts.node_id
            and victim_slots.slot = starts.slot
            and victim_slots.attempt_id != starts.attempt_id
            and victim_slots.ended_at <= starts.started_at
            and victim_slots.ended_at + interval 600 second >= starts.started_at
            -- Slurm preempts for a waiting job. A job that became eligible later found the nodes free.
            and victim_slots.ended_at + interval 2 second >= starts.waiting_since
    group by victim_slots.cluster_id, victim_slots.attempt_id, starts.attempt_id

),

runs as (

    select
        attempts.cluster_id,
        attempts.attempt_id,
        coalesce(chained_jobs.run_id, attempts.job_key) as run_id,
        coalesce(attempts.previous_attempt_id, chained_jobs.previous_attempt_id) as previous_attempt_id,
        attempts.qos,
        attempts.partition
    from attempts
    left join chained_jobs
        on
            attempts.cluster_id = chained_jobs.cluster_id
            and attempts.job_key = chained_jobs.job_key
    where attempts.attempt_id in (
        select attempt_id from candidates
        union
        select instigator_attempt_id from candidates
    )

)

select
    candidates.cluster_id,
    candidates.attempt_id,
    candidates.instigator_attempt_id,
    candidates.shared_node_count,
    candidates.delay_seconds
from candidates
inner join runs as victim_runs
    on
        candidates.cluster_id = victim_runs.cluster_id
        and candidates.attempt_id = victim_runs.attempt_id
inner join runs as instigator_runs
    on
        candidates.cluster_id = instigator_runs.cluster_id
        and candidates.instigator_attempt_id = instigator_runs.attempt_id
left join failures
    on
        instigator_runs.cluster_id = failures.cluster_id
        and instigator_runs.previous_attempt_id = failures.attempt_id
-- The victim's own next attempt often returns to the same nodes.
where victim_runs.run_id != instigator_runs.run_id
qualify
    row_number() over (
        partition by candidates.cluster_id, candidates.attempt_id
        order by
            -- Slurm preempts for another QOS or partition. A job of the victim's own fills nodes that the instigator
            -- left.
            coalesce(
                victim_runs.qos = instigator_runs.qos and victim_runs.partition = instigator_runs.partition, false
            ) asc,
            failures.attempt_id is null asc,
            candidates.shared_node_count desc,
            candidates.delay_seconds asc,
            candidates.instigator_attempt_id asc
    ) = 1
