with

evidence as (

    select * from {{ ref('int_failures_judged') }}
    where event_id is not null

)

select
    cluster_id,
    attempt_id,
    event_id,
    culprit_node_id as node_id,
    failure_category,
    lag_seconds,
    cast(evidence_rank as integer) as evidence_rank,
    evidence_rank = 1 as is_primary,
    event_probability as probability
from evidence
