with

records as (

    select
        cluster_id,
        source_path,
        source_line_number,
        gpu_count,
        node_ids,
        {{ list_length('node_ids') }} as node_count
    from {{ ref('stg_sacct__records') }}
    where
        gpu_count > 0
        and {{ list_length('node_ids') }} > 0

),

nodes as (

    select
        cluster_id,
        node_id,
        max_gpu_count
    from {{ ref('stg_inventory__nodes') }}
    where max_gpu_count is not null

),

smallest_gpu_nodes as (

    select
        cluster_id,
        min(max_gpu_count) as gpu_count
    from nodes
    where max_gpu_count > 0
    group by cluster_id

),

-- Nearly all records are within what the smallest nodes have, and need not be looked at node by node.
large_records as (

    select records.*
    from records
    left join smallest_gpu_nodes on records.cluster_id = smallest_gpu_nodes.cluster_id
    where
        records.gpu_count
        > records.node_count * coalesce(smallest_gpu_nodes.gpu_count, {{ max_gpus_of_a_node() }})

),

members as (

    select
        cluster_id,
        source_path,
        source_line_number,
        gpu_count,
        {{ unnest_list('node_ids') }} as node_id
    from large_records

)

select
    members.cluster_id,
    members.source_path,
    members.source_line_number,
    max(members.gpu_count) as gpu_count,
    sum(coalesce(nodes.max_gpu_count, {{ max_gpus_of_a_node() }})) as possible_gpu_count
from members
left join nodes
    on
        members.cluster_id = nodes.cluster_id
        and members.node_id = nodes.node_id
group by members.cluster_id, members.source_path, members.source_line_number
having max(members.gpu_count) > sum(coalesce(nodes.max_gpu_count, {{ max_gpus_of_a_node() }}))
