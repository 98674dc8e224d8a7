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

totals as (

    select
        cluster_id,
        count(*) as record_count
    from records
    group by cluster_id

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
        node_count,
        {{ unnest_list('node_ids') }} as node_id
    from large_records

),

held_against_nodes as (

    select
        members.cluster_id,
        members.source_path,
        members.source_line_number,
        max(members.gpu_count) as gpu_count,
        max(members.node_count) as node_count,
        sum(coalesce(nodes.max_gpu_count, {{ max_gpus_of_a_node() }})) as possible_gpu_count
    from members
    left join nodes
        on
            members.cluster_id = nodes.cluster_id
            and members.node_id = nodes.node_id
    group by members.cluster_id, members.source_path, members.source_line_number

),

excessive as (

    select
        *,
        count(*) over (partition by cluster_id) as excessive_count
    from held_against_nodes
    where gpu_count > possible_gpu_count

)

-- What many records say against the inventory is no slip of theirs: then the inventory is the one that errs.
select
    excessive.cluster_id,
    excessive.source_path,
    excessive.source_line_number,
    excessive.gpu_count,
    excessive.possible_gpu_count
from excessive
inner join totals on excessive.cluster_id = totals.cluster_id
where
    excessive.gpu_count > excessive.node_count * {{ max_gpus_of_a_node() }}
    or excessive.excessive_count <= greatest(3, totals.record_count * 0.05)
