-- Every PREEMPTED attempt stands there once. Nobody is thought to have made room for a later attempt of the same run.
-- Where the log names whom, it may be one of the same run: a run is told by the names and times of its jobs.
{{ config(tags=['judged_with_the_code']) }}

with

preempted as (

    select
        cluster_id,
        attempt_id,
        run_id
    from {{ ref('fct_attempts') }}
    where
        is_terminal
        and state = 'PREEMPTED'

)

select
    preempted.cluster_id,
    preempted.attempt_id,
    preemptions.instigator_attempt_id
from preempted
full outer join {{ ref('fct_preemptions') }} as preemptions
    on
        preempted.cluster_id = preemptions.cluster_id
        and preempted.attempt_id = preemptions.attempt_id
left join {{ ref('fct_attempts') }} as instigators
    on
        preemptions.cluster_id = instigators.cluster_id
        and preemptions.instigator_attempt_id = instigators.attempt_id
where
    preempted.attempt_id is null
    or preemptions.attempt_id is null
    or (preemptions.is_inferred and preempted.run_id = instigators.run_id)
    or (preemptions.is_second_order and preemptions.instigator_attempt_id is null)
    or (preemptions.is_inferred and preemptions.instigator_attempt_id is null)
