with

sightings as (

    select * from {{ ref('int_node_sightings') }}

),

node_names as (

    select * from {{ ref('stg_config__node_names') }}

),

inventory as (

    select * from {{ ref('stg_inventory__nodes') }}

),

clusters as (

    select * from {{ ref('stg_config__clusters') }}

),

node_days as (

    select * from {{ ref('int_nodes_used') }}

),

clocks as (

    select * from {{ ref('int_node_clock_offsets') }}
    where to_at is null

),

-- A job with GPUs, or a GPU driver, shows that a node has GPUs. Jobs with a known GPU count of 0 show that it has none.
seen_gpus as (

    select
        cluster_id,
        node_id,
        case
            when max(allocated_gpu_hours) > 0 then true
            when count(*) = count(allocated_gpu_hours) then false
        end as has_gpus
    from node_days
    group by cluster_id, node_id

    union all

    select
        cluster_id,
        node_id,
        true as has_gpus
    from sightings
    where driver_vendor is not null

),

gpus_of_nodes as (

    select
        cluster_id,
        node_id,
        bool_or(has_gpus) as has_gpus
    from seen_gpus
    group by cluster_id, node_id

),

-- The name without a domain comes first, then the one that needed the least change.
shown_names as (

    select
        cluster_id,
        node_id,
        name_as_seen
    from node_names
    qualify
        row_number() over (
            partition by cluster_id, node_id
            order by lower(name_as_seen) != node_id, length(name_as_seen), name_as_seen desc
        ) = 1

)

select
    sightings.cluster_id,
    sightings.node_id,
    coalesce(inventory.node_name, shown_names.name_as_seen, sightings.node_id) as node_name,
    coalesce(inventory.gpu_count, clusters.gpus_per_node) as gpu_count,
    case when inventory.gpu_count is not null then 'inventory' else 'configuration' end as gpu_count_source,
    coalesce(inventory.gpu_count > 0, gpus_of_nodes.has_gpus) as is_gpu_node,
    case
        when coalesce(inventory.gpu_count, clusters.gpus_per_node) > 0
            then coalesce(inventory.gpu_model, clusters.gpu_model)
    end as gpu_model,
    case
        when coalesce(inventory.gpu_count > 0, gpus_of_nodes.has_gpus, true)
            then coalesce(
                sightings.driver_vendor,
                case
                    when inventory.gpu_model is not null
                        then coalesce({{ vendor_of_gpus('inventory.gpu_model') }}, 'nvidia')
                end,
                sightings.type_vendor,
                case
                    when clusters.gpu_model is not null
                        then coalesce({{ vendor_of_gpus('clusters.gpu_model') }}, 'nvidia')
                end,
                sightings.check_vendor,
                'nvidia'
            )
    end as gpu_vendor,
    inventory.cpu_count,
    inventory.memory_mib,
    inventory.partitions,
    {% for place in ['rack', 'switch', 'nvlink_domain', 'position'] %}
        coalesce(
            inventory.{{ place }},
            nullif(regexp_extract(sightings.node_id, '(?i)' || clusters.{{ place }}_pattern, 1), '')
        ) as {{ place }},
    {% endfor %}
    sightings.first_seen_at,
    sightings.last_seen_at,
    clocks.ahead_seconds as clock_ahead_seconds
from sightings
inner join clusters on sightings.cluster_id = clusters.cluster_id
left join shown_names
    on
        sightings.cluster_id = shown_names.cluster_id
        and sightings.node_id = shown_names.node_id
left join inventory
    on
        sightings.cluster_id = inventory.cluster_id
        and sightings.node_id = inventory.node_id
left join gpus_of_nodes
    on
        sightings.cluster_id = gpus_of_nodes.cluster_id
        and sightings.node_id = gpus_of_nodes.node_id
left join clocks
    on
        sightings.cluster_id = clocks.cluster_id
        and sightings.node_id = clocks.node_id
