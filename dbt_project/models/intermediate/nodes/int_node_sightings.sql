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

failure_records as (

    select * from {{ ref('stg_failures__records') }}

),

-- Node lists repeat: aggregate times before expanding the lists. The elapsed time of a running job ends at the export.
allocations as (

    select
        cluster_id,
        node_ids,
        gpu_type,
        min(started_at) as first_at,
        max(coalesce(
            ended_at,
            started_at + {{ seconds_interval('elapsed_seconds + coalesce(suspended_seconds, 0)') }},
            started_at
        )) as last_at
    from records
    where {{ list_length('node_ids') }} > 0
    group by cluster_id, node_ids, gpu_type

),

allocated_nodes as (

    select
        cluster_id,
        gpu_type,
        first_at,
        last_at,
        {{ unnest_list('node_ids') }} as node_id
    from allocations

),

-- `told_by` is the source of the vendor of the node's GPUs, `name` its text. A list of places alone, such as
-- topology.conf, does not show whether jobs can use a node.
sightings as (

    select
        cluster_id,
        node_id,
        cast(null as timestamp) as first_at,
        cast(null as timestamp) as last_at,
        cast(null as string) as told_by,
        cast(null as string) as name,
        false as is_in_slurm
    from node_names
    union all
    select
        cluster_id,
        node_id,
        min(first_at) as first_at,
        max(last_at) as last_at,
        'type' as told_by,
        gpu_type as name,
        true as is_in_slurm
    from allocated_nodes
    group by cluster_id, node_id, gpu_type
    union all
    select
        cluster_id,
        node_id,
        min(observed_at) as first_at,
        max(observed_at) as last_at,
        'check' as told_by,
        check_name as name,
        false as is_in_slurm
    from health_checks
    group by cluster_id, node_id, check_name
    union all
    select
        cluster_id,
        node_id,
        min(occurred_at) as first_at,
        max(occurred_at) as last_at,
        'driver' as told_by,
        rule as name,
        false as is_in_slurm
    from kernel_messages
    group by cluster_id, node_id, rule
    union all
    select
        cluster_id,
        node_id,
        started_at as first_at,
        coalesce(ended_at, started_at) as last_at,
        null as told_by,
        null as name,
        true as is_in_slurm
    from node_events
    union all
    select
        cluster_id,
        node_id,
        min(logged_at) as first_at,
        max(logged_at) as last_at,
        null as told_by,
        null as name,
        true as is_in_slurm
    from slurmctld_events
    group by cluster_id, node_id
    union all
    select
        cluster_id,
        node_id,
        min(started_at) as first_at,
        max(coalesce(ended_at, started_at)) as last_at,
        null as told_by,
        null as name,
        false as is_in_slurm
    from failure_records
    group by cluster_id, node_id
    union all
    select
        cluster_id,
        node_id,
        captured_at as first_at,
        captured_at as last_at,
        null as told_by,
        null as name,
        coalesce(state, cast(cpu_count as string), cast(gpu_count as string)) is not null as is_in_slurm
    from nodes

),

vendors as (

    select
        told_by,
        name,
        {{ vendor_of_gpus('name') }} as vendor
    from sightings
    where told_by in ('type', 'check')
    group by told_by, name
    union all
    select
        'driver' as told_by,
        rule as name,
        vendor
    from {{ ref('kernel_rules') }}
    where vendor is not null

),

-- The driver that logged last is in use.
ranked as (

    select
        sightings.*,
        vendors.vendor,
        row_number() over (
            partition by sightings.cluster_id, sightings.node_id, sightings.told_by
            order by vendors.vendor is null asc, sightings.last_at desc, vendors.vendor asc
        ) = 1 as is_last
    from sightings
    left join vendors
        on
            sightings.told_by = vendors.told_by
            and sightings.name = vendors.name
    where sightings.node_id is not null

)

select
    cluster_id,
    node_id,
    min(first_at) as first_seen_at,
    max(last_at) as last_seen_at,
    bool_or(is_in_slurm) as is_in_slurm,
    max(case when told_by = 'driver' and is_last then vendor end) as driver_vendor,
    min(case when told_by = 'type' then vendor end) as type_vendor,
    min(case when told_by = 'check' then vendor end) as check_vendor
from ranked
group by cluster_id, node_id
