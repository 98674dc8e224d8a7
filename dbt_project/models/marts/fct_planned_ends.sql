with

interrupted as (

    select * from {{ ref('int_attempts_interrupted') }}
    where is_planned

)

select
    cluster_id,
    attempt_id
from interrupted
