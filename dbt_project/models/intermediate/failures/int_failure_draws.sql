with

posteriors as (

    select * from {{ ref('int_evidence_posteriors') }}
    where draw > 0

),

failures as (

    select * from {{ ref('int_failures_attributed') }}
    where
        state not in ('NODE_FAIL', 'BOOT_FAIL')
        and not is_culprit_named

)

select
    posteriors.cluster_id,
    posteriors.attempt_id,
    posteriors.draw,
    least({{ exact_sum('posteriors.probability') }}, 1) as probability
from posteriors
inner join failures
    on
        posteriors.cluster_id = failures.cluster_id
        and posteriors.attempt_id = failures.attempt_id
group by posteriors.cluster_id, posteriors.attempt_id, posteriors.draw
