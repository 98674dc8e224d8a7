{{ config(materialized='kept', meta={'replaced': replaced_attempts()}) }}

with

attempts as (

    select * from {{ ref('int_attempts_resolved') }}
    {{ touched_jobs_only() }}

)

select
    cluster_id,
    attempt_id,
    {{ unnest_list('node_ids') }} as node_id
from attempts
