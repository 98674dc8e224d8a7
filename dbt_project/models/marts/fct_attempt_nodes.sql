{{ config(materialized=incremental_on_duckdb(), unique_key='attempt_id', meta={'lookups': [touched_attempts()]}) }}

with

attempts as (

    select * from {{ ref('int_attempts') }}
    {{ touched_jobs_only() }}

)

select
    cluster_id,
    attempt_id,
    {{ unnest_list('node_ids') }} as node_id
from attempts
