-- The flag of an attempt and the list of failures say the same, and every NODE_FAIL is on the list or a planned end.
{{ config(meta={'dagster': {'ref': {'name': 'fct_attempts'}}}) }}

select
    attempts.cluster_id,
    attempts.attempt_id,
    attempts.state,
    attempts.is_infrastructure_failure,
    attempts.failure_category,
    failures.failure_category as listed_failure_category
from {{ ref('fct_attempts') }} as attempts
left join {{ ref('fct_failures') }} as failures
    on
        attempts.cluster_id = failures.cluster_id
        and attempts.attempt_id = failures.attempt_id
where
    attempts.is_infrastructure_failure != (failures.attempt_id is not null)
    or attempts.failure_category is distinct from failures.failure_category
    or attempts.incident_id is distinct from failures.incident_id
    or (
        attempts.state = 'NODE_FAIL'
        and attempts.is_terminal
        and not attempts.is_infrastructure_failure
        and attempts.end_reason is distinct from 'planned'
    )
