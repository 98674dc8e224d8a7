with

tickets as (

    select * from {{ source_table('raw', 'tickets') }}
    where disposition = 'loaded'

)

select
    cluster_id,
    path as source_path,
    line_number as source_line_number,
    ticket_id,
    node_id,
    opened_at,
    closed_at,
    component,
    component_raw,
    action,
    status,
    summary
from tickets
