with

attempts as (

    select * from {{ ref('int_attempts_chained') }}

),

logged as (

    select * from {{ ref('int_preemptions_logged') }}

),

inferred as (

    select * from {{ ref('int_preemptions_inferred') }}

),

failures as (

    select * from {{ ref('fct_failures') }}

),

clusters as (

    select
        cluster_id,
        checkpoint_minutes
    from {{ ref('stg_config__clusters') }}

),

victims as (

    select
        attempts.cluster_id,
        attempts.attempt_id,
        attempts.run_id,
        attempts.runtime_seconds,
        attempts.gpu_count,
        coalesce(logged.logged_at, {{ cast_whole_seconds('attempts.ended_at') }}) as preempted_at,
        logged.preempt_mode,
        coalesce(logged.instigator_attempt_id, inferred.instigator_attempt_id) as instigator_attempt_id,
        case
            when logged.instigator_attempt_id is not null then logged.is_inferred
            else inferred.instigator_attempt_id is not null
        end as is_inferred,
        case
            when logged.instigator_attempt_id is not null and not logged.is_inferred then 'named_in_log'
            when logged.instigator_attempt_id is not null then 'logged_beside_named'
            when inferred.instigator_attempt_id is not null then 'started_on_nodes'
            else 'unknown'
        end as instigator_rule
    from attempts
    left join logged
        on
            attempts.cluster_id = logged.cluster_id
            and attempts.attempt_id = logged.attempt_id
    left join inferred
        on
            attempts.cluster_id = inferred.cluster_id
            and attempts.attempt_id = inferred.attempt_id
    where
        attempts.is_terminal
        and attempts.state = 'PREEMPTED'

),

restarts_after_failure as (

    select
        attempts.cluster_id,
        attempts.attempt_id,
        failures.posterior_probability
    from attempts
    inner join failures
        on
            attempts.cluster_id = failures.cluster_id
            and attempts.previous_attempt_id_of_run = failures.attempt_id

)

select
    victims.cluster_id,
    victims.attempt_id,
    victims.run_id,
    victims.preempted_at,
    victims.preempt_mode,
    victims.instigator_attempt_id,
    victims.instigator_rule,
    victims.is_inferred,
    restarts_after_failure.attempt_id is not null as is_second_order,
    coalesce(restarts_after_failure.posterior_probability, 0) as second_order_probability,
    {{ lost_gpu_hours('victims.runtime_seconds', 'victims.gpu_count', 'clusters.checkpoint_minutes') }}
        as lost_gpu_hours
from victims
left join clusters on victims.cluster_id = clusters.cluster_id
left join restarts_after_failure
    on
        victims.cluster_id = restarts_after_failure.cluster_id
        and victims.instigator_attempt_id = restarts_after_failure.attempt_id
