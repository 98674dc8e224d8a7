with

attempts as (

    select * from {{ ref('int_attempts_near_events') }}

),

het_jobs as (

    select * from {{ ref('int_het_jobs_sized') }}

),

het_failures as (

    select * from {{ ref('int_het_failures_joined') }}

),

culprits as (

    select * from {{ ref('int_culprits_named') }}

),

clusters as (

    select * from {{ ref('stg_config__clusters') }}

),

events as (

    select * from {{ ref('fct_health_events') }}
    where is_evidence

),

reaches as (

    select
        cluster_id,
        {{ widest_before_seconds('clusters') }} as before_seconds,
        {{ widest_after_seconds('clusters') }} as after_seconds
    from clusters

),

named as (

    select distinct
        cluster_id,
        attempt_id
    from culprits

),

-- Those whose evidence is looked for on all nodes, and their control: work that ended well under the same rules.
ends as (

    select
        attempts.cluster_id,
        attempts.attempt_id,
        attempts.state,
        {{ job_gpu_count('attempts', 'het_jobs') }} as job_gpu_count,
        attempts.started_at,
        attempts.ended_at,
        attempts.ended_at - {{ seconds_interval('reaches.before_seconds') }} as window_start_at,
        attempts.ended_at + {{ seconds_interval('reaches.after_seconds') }} as window_end_at,
        attempts.node_ids
    from attempts
    inner join reaches on attempts.cluster_id = reaches.cluster_id
    left join named
        on
            attempts.cluster_id = named.cluster_id
            and attempts.attempt_id = named.attempt_id
    left join het_jobs
        on
            attempts.cluster_id = het_jobs.cluster_id
            and attempts.attempt_id = het_jobs.attempt_id
    where
        attempts.is_terminal
        and attempts.state in ('COMPLETED', 'NODE_FAIL', 'BOOT_FAIL', 'FAILED', 'REQUEUED')
        and named.attempt_id is null

),

end_nodes as (

    select
        cluster_id,
        attempt_id,
        started_at,
        ended_at,
        window_start_at,
        window_end_at,
        {{ unnest_list('node_ids') }} as node_id
    from ends

    union

    select
        ends.cluster_id,
        ends.attempt_id,
        ends.started_at,
        ends.ended_at,
        ends.window_start_at,
        ends.window_end_at,
        {{ unnest_list('het_failures.partner_node_ids') }} as node_id
    from ends
    inner join het_failures
        on
            ends.cluster_id = het_failures.cluster_id
            and ends.attempt_id = het_failures.attempt_id

),

evidence as (

    {{ evidence_near_ends('end_nodes', 'reaches') }}

)

select
    evidence.cluster_id,
    evidence.attempt_id,
    ends.state = 'COMPLETED' as is_control,
    {{ gpu_size_bin('ends.job_gpu_count') }} as gpu_size_bin,
    evidence.event_id,
    evidence.failure_category,
    evidence.lag_seconds
from evidence
inner join ends
    on
        evidence.cluster_id = ends.cluster_id
        and evidence.attempt_id = ends.attempt_id
