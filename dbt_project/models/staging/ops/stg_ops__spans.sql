with

spans as (

    select * from {{ source_table('ops', 'spans') }}

)

select
    cluster_id,
    kind,
    from_at,
    to_at,
    known_by
from spans
