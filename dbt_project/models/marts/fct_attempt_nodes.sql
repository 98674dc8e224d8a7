with

attempts as (

    select * from {{ ref('int_attempts') }}

)

select
    cluster_id,
    attempt_id,
    {{ unnest_list('node_ids') }} as node_id
from attempts
