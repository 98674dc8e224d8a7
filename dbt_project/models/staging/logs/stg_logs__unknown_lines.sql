with

unknown_lines as (

    select * from {{ source_table('raw', 'unknown_lines') }}

)

select
    cluster_id,
    path as source_path,
    line_number as source_line_number,
    kind as source_kind,
    node_id,
    first_at,
    first_at + {{ seconds_interval('duration_seconds') }} as last_at,
    shape,
    line_count,
    example
from unknown_lines
