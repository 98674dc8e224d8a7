with

node_names as (

    select * from {{ ref('stg_config__node_names') }}

),

records as (

    select * from {{ ref('stg_sacct__records') }}

),

health_checks as (

    select * from {{ ref('stg_health__checks') }}

),

kernel_messages as (

    select * from {{ ref('stg_kernel__messages') }}

),

node_events as (

    select * from {{ ref('stg_sacctmgr__node_events') }}

),

slurmctld_events as (

    select * from {{ ref('stg_slurmctld__events') }}

),

nodes as (

    select * from {{ ref('stg_inventory__nodes') }}

),

-- Node lists repeat: the times are folded before the lists are unfolded. A job that runs was seen running: its elapsed
-- time ends where the export does.
allocations as (

    select
        cluster_id,
        node_ids,
        min(started_at) as first_at,
        max(coalesce(
            ended_at,
            started_at + {{ seconds_interval('elapsed_seconds + coalesce(suspended_seconds, 0)') }},
            started_at
        )) as last_at
    from records
    where {{ list_length('node_ids') }} > 0
    group by cluster_id, node_ids

),

sightings as (

    select
        cluster_id,
        node_id,
        cast(null as timestamp) as first_at,
        cast(null as timestamp) as last_at
    from node_names
    union all
    select
        cluster_id,
        {{ unnest_list('node_ids') }} as node_id,
        first_at,
        last_at
    from allocations
    union all
    select
        cluster_id,
        node_id,
        min(observed_at) as first_at,
        max(observed_at) as last_at
    from health_checks
    group by cluster_id, node_id
    union all
    select
        cluster_id,
        node_id,
        min(occurred_at) as first_at,
        max(occurred_at) as last_at
    from kernel_messages
    group by cluster_id, node_id
    union all
    select
        cluster_id,
        node_id,
        min(started_at) as first_at,
        max(coalesce(ended_at, started_at)) as last_at
    from node_events
    group by cluster_id, node_id
    union all
    select
        cluster_id,
        node_id,
        min(logged_at) as first_at,
        max(logged_at) as last_at
    from slurmctld_events
    group by cluster_id, node_id
    union all
    select
        cluster_id,
        node_id,
        captured_at as first_at,
        captured_at as last_at
    from nodes

)

select
    cluster_id,
    node_id,
    min(first_at) as first_seen_at,
    max(last_at) as last_seen_at
from sightings
where node_id is not null
group by cluster_id, node_id
