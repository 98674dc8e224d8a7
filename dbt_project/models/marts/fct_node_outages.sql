with

outages as (

    select * from {{ ref('int_node_outages') }}

)

select
    cluster_id,
    {{ content_id(['cluster_id', 'node_id', 'started_at', 'failure_category', 'state', 'reason']) }} as outage_id,
    node_id,
    started_at,
    ended_at,
    is_open,
    state,
    reason,
    reason_user,
    failure_category,
    is_planned,
    origin,
    requested_at,
    source,
    cast(interval_count as integer) as interval_count,
    source_path,
    source_line_number
from outages
