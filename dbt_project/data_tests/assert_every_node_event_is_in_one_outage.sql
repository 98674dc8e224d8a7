-- Merging recorded intervals into outages neither loses nor repeats any.
{{ config(meta={'dagster': {'ref': {'name': 'fct_node_outages'}}}) }}

with

node_events as (

    select
        cluster_id,
        node_id,
        count(*) as interval_count
    from {{ ref('stg_sacctmgr__node_events') }}
    group by cluster_id, node_id

),

outages as (

    select
        cluster_id,
        node_id,
        sum(interval_count) as interval_count
    from {{ ref('fct_node_outages') }}
    where source = 'sacctmgr'
    group by cluster_id, node_id

)

select
    node_events.cluster_id,
    node_events.node_id,
    node_events.interval_count,
    outages.interval_count as merged_interval_count
from node_events
full outer join outages
    on
        node_events.cluster_id = outages.cluster_id
        and node_events.node_id = outages.node_id
where node_events.interval_count is distinct from outages.interval_count
