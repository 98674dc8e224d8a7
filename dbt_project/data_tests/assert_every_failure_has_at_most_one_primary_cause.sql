-- One primary event exactly where there is evidence, of the category and on the node the failure shows.
{{ config(tags=['judged_with_the_code']) }}

with

evidence as (

    select
        cluster_id,
        attempt_id,
        count(*) as evidence_count,
        count(case when is_primary then 1 end) as primary_count,
        max(case when is_primary then event_id end) as primary_event_id,
        max(case when is_primary then failure_category end) as failure_category,
        max(case when is_primary then node_id end) as node_id
    from {{ ref('fct_failure_evidence') }}
    group by cluster_id, attempt_id

)

select
    failures.cluster_id,
    failures.attempt_id,
    failures.attribution_rule,
    failures.evidence_count,
    evidence.evidence_count as listed_count,
    evidence.primary_count
from {{ ref('fct_failures') }} as failures
left join evidence
    on
        failures.cluster_id = evidence.cluster_id
        and failures.attempt_id = evidence.attempt_id
where
    failures.evidence_count != coalesce(evidence.evidence_count, 0)
    or (failures.evidence_count > 0 and evidence.primary_count is distinct from 1)
    or failures.primary_event_id is distinct from evidence.primary_event_id
    or (evidence.attempt_id is not null and failures.failure_category != evidence.failure_category)
    or (evidence.attempt_id is not null and failures.culprit_node_id is distinct from evidence.node_id)
    or (
        failures.is_attributed
        and failures.evidence_count = 0
        and failures.attribution_rule not in ('prolog_failure', 'boot_failure')
    )
