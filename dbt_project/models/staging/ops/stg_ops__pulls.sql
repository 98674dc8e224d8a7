with

pulls as (

    select * from {{ source_table('ops', 'pulls') }}

)

select
    cluster_id,
    status,
    ended_at,
    pulled_to as pulled_to_at,
    reason
from pulls
