with

failures as (

    select * from {{ ref('int_unit_failures') }}

)

select
    cluster_id,
    {{ content_id(['source_path', 'source_line_number', 'node_id']) }} as failure_id,
    node_id,
    unit_name,
    started_at,
    ended_at,
    down_minutes,
    cause,
    cause_detail,
    failure_category,
    action,
    source_path,
    source_line_number
from failures
