-- Accounting identity: loaded records of sacct = attempts, cluster by cluster.
{{ config(meta={'dagster': {'ref': {'name': 'fct_attempts'}}}) }}

with

records as (

    select
        cluster_id,
        count(*) as record_count
    from {{ ref('stg_sacct__records') }}
    group by cluster_id

),

attempts as (

    select
        cluster_id,
        count(*) as attempt_count
    from {{ ref('fct_attempts') }}
    group by cluster_id

)

select
    coalesce(records.cluster_id, attempts.cluster_id) as cluster_id,
    records.record_count,
    attempts.attempt_count
from records
full outer join attempts on records.cluster_id = attempts.cluster_id
where records.record_count is distinct from attempts.attempt_count
