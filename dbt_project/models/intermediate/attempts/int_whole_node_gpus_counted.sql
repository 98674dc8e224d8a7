with

records as (

    select
        cluster_id,
        source_path,
        source_line_number,
        gpu_count,
        gpu_count_source,
        cpu_count,
        node_ids,
        coalesce(started_at, submitted_at) as allocated_at
    from {{ ref('stg_sacct__records') }}

),

nodes as (

    select * from {{ ref('stg_inventory__nodes') }}

),

gpu_tracking as (

    select * from {{ ref('int_gpus_tracked') }}

),

allocated_nodes as (

    select
        records.source_path,
        records.source_line_number,
        records.cluster_id,
        records.cpu_count,
        {{ list_length('records.node_ids') }} as node_count,
        {{ unnest_list('records.node_ids') }} as node_id
    from records
    inner join gpu_tracking on records.cluster_id = gpu_tracking.cluster_id
    where
        records.gpu_count is null
        and (
            records.gpu_count_source = 'no_tres'
            or records.allocated_at < coalesce(gpu_tracking.gpus_tracked_from, timestamp '9999-01-01')
        )

)

-- Every node known, and no GPU in any of them, or every CPU of them allocated: else it is unknown what was the job's.
select
    allocated_nodes.source_path,
    allocated_nodes.source_line_number,
    sum(nodes.gpu_count) as gpu_count
from allocated_nodes
inner join nodes
    on
        allocated_nodes.cluster_id = nodes.cluster_id
        and allocated_nodes.node_id = nodes.node_id
group by allocated_nodes.source_path, allocated_nodes.source_line_number
having
    count(nodes.gpu_count) = max(allocated_nodes.node_count)
    and (
        max(nodes.gpu_count) = 0
        or sum(nodes.cpu_count) = max(allocated_nodes.cpu_count)
    )
