-- On a node of the attempt, or of a component that ended with it; inside the cluster's window; not before the start.
{{ config(tags=['judged_with_the_code']) }}

select
    evidence.cluster_id,
    evidence.attempt_id,
    evidence.event_id,
    evidence.node_id,
    evidence.lag_seconds
from {{ ref('fct_failure_evidence') }} as evidence
inner join {{ ref('fct_failures') }} as failures
    on
        evidence.cluster_id = failures.cluster_id
        and evidence.attempt_id = failures.attempt_id
inner join {{ ref('stg_config__clusters') }} as clusters on evidence.cluster_id = clusters.cluster_id
left join {{ ref('fct_attempt_nodes') }} as attempt_nodes
    on
        evidence.cluster_id = attempt_nodes.cluster_id
        and evidence.attempt_id = attempt_nodes.attempt_id
        and evidence.node_id = attempt_nodes.node_id
where
    (
        attempt_nodes.node_id is null
        and not exists (
            select 1
            from {{ ref('int_het_failures_joined') }} as het_failures
            where
                evidence.attempt_id = het_failures.attempt_id
                and array_contains(het_failures.partner_node_ids, evidence.node_id)
        )
    )
    or evidence.lag_seconds < -clusters.attribution_before_seconds
    or evidence.lag_seconds > clusters.attribution_after_seconds
