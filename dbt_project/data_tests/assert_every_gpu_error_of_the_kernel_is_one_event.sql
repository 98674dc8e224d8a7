-- Every Xid and SXid message is in exactly one event.
{{ config(meta={'dagster': {'ref': {'name': 'fct_health_events'}}}) }}

with

messages as (

    select
        cluster_id,
        node_id,
        count(*) as message_count
    from {{ ref('stg_kernel__messages') }}
    where kind in ('xid', 'sxid') and node_id is not null
    group by cluster_id, node_id

),

events as (

    select
        cluster_id,
        node_id,
        count(*) as event_count
    from {{ ref('fct_health_events') }}
    where source = 'kernel' and check_name in ('xid', 'sxid')
    group by cluster_id, node_id

)

select
    messages.cluster_id,
    messages.node_id,
    messages.message_count,
    events.event_count
from messages
full outer join events
    on
        messages.cluster_id = events.cluster_id
        and messages.node_id = events.node_id
where messages.message_count is distinct from events.event_count
