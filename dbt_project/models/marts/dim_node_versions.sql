with

kernel_messages as (

    select * from {{ ref('stg_kernel__messages') }}
    where version is not null

),

snapshots as (

    select * from {{ ref('stg_inventory__snapshots') }}

),

slurmctld_events as (

    select * from {{ ref('stg_slurmctld__events') }}
    where kind = 'controller_started'

),

sightings as (

    select
        cluster_id,
        node_id,
        case kind when 'boot' then 'kernel' when 'driver_loaded' then 'driver' else kind end as component,
        version,
        occurred_at as seen_at
    from kernel_messages
    where node_id is not null

    union all

    select
        cluster_id,
        node_id,
        'kernel' as component,
        kernel_version as version,
        captured_at as seen_at
    from snapshots

    union all

    select
        cluster_id,
        node_id,
        'slurmd' as component,
        slurm_version as version,
        captured_at as seen_at
    from snapshots

    union all

    select
        cluster_id,
        cast(null as string) as node_id,
        'slurmctld' as component,
        version,
        logged_at as seen_at
    from slurmctld_events

)

select
    cluster_id,
    node_id,
    component,
    version,
    min(seen_at) as first_seen_at,
    max(seen_at) as last_seen_at
from sightings
where version is not null
group by cluster_id, node_id, component, version
