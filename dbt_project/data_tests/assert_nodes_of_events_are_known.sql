-- Events, outages, tickets, failure records and exclusions have nodes of the dimension.
{{ config(meta={'dagster': {'ref': {'name': 'dim_nodes'}}}) }}

with

nodes as (

    select * from {{ ref('dim_nodes') }}

),

mentions as (

    select distinct
        'fct_health_events' as table_name,
        cluster_id,
        node_id
    from {{ ref('fct_health_events') }}
    union all
    select distinct
        'fct_node_outages' as table_name,
        cluster_id,
        node_id
    from {{ ref('fct_node_outages') }}
    union all
    select distinct
        'fct_tickets' as table_name,
        cluster_id,
        node_id
    from {{ ref('fct_tickets') }}
    union all
    select distinct
        'fct_unit_failures' as table_name,
        cluster_id,
        node_id
    from {{ ref('fct_unit_failures') }}
    where node_id is not null
    union all
    select distinct
        'fct_job_exclusions' as table_name,
        cluster_id,
        node_id
    from {{ ref('fct_job_exclusions') }}

)

select
    mentions.table_name,
    mentions.cluster_id,
    mentions.node_id
from mentions
left join nodes
    on
        mentions.cluster_id = nodes.cluster_id
        and mentions.node_id = nodes.node_id
where nodes.node_id is null
