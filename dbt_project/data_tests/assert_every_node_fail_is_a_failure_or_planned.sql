-- Slurm lost the node: that is an infrastructure failure, unless planned work took the node down.
{{ config(tags=['judged_with_the_code']) }}

select
    cluster_id,
    attempt_id,
    state
from {{ ref('fct_attempts') }}
where
    state = 'NODE_FAIL'
    and is_terminal
    and not is_infrastructure_failure
    and end_reason is distinct from 'planned'
