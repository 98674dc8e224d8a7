with

posteriors as (

    select
        cluster_id,
        attempt_id,
        draw,
        probability
    from {{ fitted_table('int_posteriors_fitted') }}
    where draw > 0

),

-- Attempts with a culprit named by Slurm have no fit.
failures as (

    select * from {{ ref('int_attempts_interrupted') }}
    where state not in ('NODE_FAIL', 'BOOT_FAIL')

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
