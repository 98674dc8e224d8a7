with

node_events as (

    select * from {{ source_table('raw', 'node_events') }}
    where
        disposition = 'loaded'
        and event_kind = 'node'

)

select
    cluster_id,
    path as source_path,
    line_number as source_line_number,
    node_id,
    started_at,
    ended_at,
    upper(state) as state,
    state_flags,
    nullif(trim(reason), '') as reason,
    reason_user,
    reason_uid
from node_events
