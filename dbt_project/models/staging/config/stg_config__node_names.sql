with

node_names as (

    select * from {{ source_table('raw', 'node_names') }}

)

select
    cluster_id,
    name_as_seen,
    node_id
from node_names
