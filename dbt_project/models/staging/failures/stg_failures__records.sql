with

failures as (

    select * from {{ source_table('raw', 'unit_failures') }}
    where disposition = 'loaded'

)

select
    cluster_id,
    path as source_path,
    line_number as source_line_number,
    node_id,
    unit_name,
    started_at,
    ended_at,
    down_minutes,
    cause,
    cause_detail,
    case
        when cause_detail is null or cause_detail = cause then cause
        else concat_ws(': ', cause, cause_detail)
    end as reason,
    action
from failures
