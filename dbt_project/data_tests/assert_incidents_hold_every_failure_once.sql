{{ config(meta={'dagster': {'ref': {'name': 'fct_incidents'}}}) }}

with

incidents as (

    select
        cluster_id,
        sum(attempt_count) as attempt_count
    from {{ ref('fct_incidents') }}
    group by cluster_id

),

failures as (

    select
        cluster_id,
        count(*) as failure_count
    from {{ ref('fct_failures') }}
    group by cluster_id

)

select
    failures.cluster_id,
    failures.failure_count,
    incidents.attempt_count
from failures
full outer join incidents on failures.cluster_id = incidents.cluster_id
where failures.failure_count is distinct from incidents.attempt_count
