with

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

    select * from {{ ref('int_health_events') }}
    where is_evidence

),

reaches as (

    select
        cluster_id,
        {{ widest_before_seconds('clusters') }} as before_seconds,
        {{ widest_after_seconds('clusters') }} as after_seconds
    from clusters

),

event_quarter_hours as (

    select
        events.*,
        {{ unnest_integer_range(
            quarter_hour('events.observed_at - ' ~ seconds_interval('cast(reaches.after_seconds as bigint)')),
            quarter_hour('events.observed_at + ' ~ seconds_interval('cast(reaches.before_seconds as bigint)'))
        ) }} as quarter_hour
    from events
    inner join reaches on events.cluster_id = reaches.cluster_id

),

named as (

    select distinct
        cluster_id,
        attempt_id
    from culprits

),

-- Most attempts neither began nor ended near an event. Drop them first.
attempts as (

    {{ attempts_near_events(ref('int_attempts'), 'event_quarter_hours', 'het_failures') | indent(4) }}

),

-- Attempts that infrastructure may have failed, and as controls, completed attempts under the same rules.
ends as (

    select
        attempts.cluster_id,
        attempts.attempt_id,
        attempts.state,
        attempts.state = 'COMPLETED' as is_control,
        named.attempt_id is not null as is_named,
        {{ gpu_size_bin(job_gpu_count('attempts', 'het_jobs')) }} as gpu_size_bin,
        attempts.started_at,
        attempts.ended_at,
        attempts.runtime_seconds,
        attempts.node_count,
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
        and (attempts.state = 'COMPLETED' or {{ may_be_failed('attempts.state') }})

),

-- If Slurm names the node that failed the attempt, events on other nodes are coincidences. The culprit of a component
-- of a heterogeneous job may be a node of another component.
nodes_of_ends as (

    select
        cluster_id,
        attempt_id,
        {{ unnest_list('node_ids') }} as node_id
    from ends
    where not is_named

    union

    select
        ends.cluster_id,
        ends.attempt_id,
        {{ unnest_list('het_failures.partner_node_ids') }} as node_id
    from ends
    inner join het_failures
        on
            ends.cluster_id = het_failures.cluster_id
            and ends.attempt_id = het_failures.attempt_id
    where not ends.is_named

    union

    select
        cluster_id,
        attempt_id,
        node_id
    from culprits

),

end_nodes as (

    select
        ends.cluster_id,
        ends.attempt_id,
        ends.started_at,
        ends.ended_at,
        ends.window_start_at,
        ends.window_end_at,
        nodes_of_ends.node_id
    from nodes_of_ends
    inner join ends
        on
            nodes_of_ends.cluster_id = ends.cluster_id
            and nodes_of_ends.attempt_id = ends.attempt_id

),

evidence as (

    {{ evidence_near_ends('end_nodes', 'attempts', 'event_quarter_hours') | indent(4) }}

)

select
    evidence.cluster_id,
    evidence.attempt_id,
    ends.is_control,
    ends.is_named,
    evidence.lag_seconds >= -clusters.attribution_before_seconds
    and evidence.lag_seconds <= clusters.attribution_after_seconds as is_in_window,
    ends.state,
    ends.gpu_size_bin,
    ends.started_at,
    ends.ended_at,
    ends.runtime_seconds,
    ends.node_count,
    evidence.event_id,
    evidence.node_id,
    evidence.failure_category,
    evidence.origin,
    evidence.observed_at,
    evidence.lag_seconds
from evidence
inner join ends
    on
        evidence.cluster_id = ends.cluster_id
        and evidence.attempt_id = ends.attempt_id
inner join clusters on evidence.cluster_id = clusters.cluster_id
