with

attempts as (

    select * from {{ ref('int_attempts_resolved') }}

)

select
    cluster_id,
    attempt_id,
    {{ unnested('node_ids') }} as node_id
from attempts
