with

records as (

    select
        cluster_id,
        job_id_raw,
        source_path,
        source_line_number,
        gpu_count,
        gpu_count_source,
        cpu_count,
        node_ids,
        {{ list_length('node_ids') }} as node_count,
        coalesce(started_at, submitted_at) as allocated_at
    from {{ ref('stg_sacct__records') }}

),

-- Accounting names GPUs from some day on. A record of that day says nothing about earlier days.
gpu_tracking as (

    select
        cluster_id,
        date_trunc('day', min(coalesce(started_at, submitted_at))) as gpus_tracked_from
    from {{ ref('stg_sacct__records') }}
    where gpu_count_source in ('tres', 'tres_typed')
    group by cluster_id

),

nodes as (

    select * from {{ ref('stg_inventory__nodes') }}

),

smallest_gpu_nodes as (

    select
        cluster_id,
        min(max_gpu_count) as gpu_count
    from nodes
    where max_gpu_count > 0
    group by cluster_id

),

-- A record without GPUs has none once accounting names GPUs; before that it is unknown. Most counts fit into the
-- smallest nodes and need no check of each node.
doubtful_records as (

    select
        records.*,
        coalesce(
            records.gpu_count_source = 'none' and records.allocated_at >= gpu_tracking.gpus_tracked_from, false
        ) as has_no_gpu
    from records
    left join gpu_tracking on records.cluster_id = gpu_tracking.cluster_id
    left join smallest_gpu_nodes on records.cluster_id = smallest_gpu_nodes.cluster_id
    where
        records.gpu_count
        > records.node_count * coalesce(smallest_gpu_nodes.gpu_count, {{ max_gpus_of_a_node() }})
        or (
            records.gpu_count is null
            and (
                records.gpu_count_source in ('none', 'no_tres')
                or records.allocated_at < coalesce(gpu_tracking.gpus_tracked_from, {{ last_time() }})
            )
        )

),

members as (

    select
        cluster_id,
        job_id_raw,
        source_path,
        source_line_number,
        gpu_count,
        cpu_count,
        node_count,
        {{ unnest_list('node_ids') }} as node_id
    from doubtful_records
    where not has_no_gpu

),

sums_over_nodes as (

    select
        members.cluster_id,
        members.job_id_raw,
        members.source_path,
        members.source_line_number,
        members.gpu_count,
        members.cpu_count,
        members.node_count,
        sum(coalesce(nodes.max_gpu_count, {{ max_gpus_of_a_node() }})) as possible_gpu_count,
        count(nodes.gpu_count) as counted_node_count,
        max(nodes.gpu_count) as max_gpu_count,
        sum(nodes.gpu_count) as inventory_gpu_count,
        sum(nodes.cpu_count) as inventory_cpu_count
    from members
    left join nodes
        on
            members.cluster_id = nodes.cluster_id
            and members.node_id = nodes.node_id
    group by all

)

select
    cluster_id,
    job_id_raw,
    source_path,
    source_line_number,
    0 as gpu_count,
    'none_of_tracked' as gpu_count_source
from doubtful_records
where has_no_gpu

union all

-- Whole nodes only: each node is known and has no GPU or all its CPUs allocated. Else the job's share is unknown.
select
    cluster_id,
    job_id_raw,
    source_path,
    source_line_number,
    case when gpu_count is null then cast(inventory_gpu_count as integer) end as gpu_count,
    case when gpu_count is null then 'inventory' else 'refuted' end as gpu_count_source
from sums_over_nodes
where
    gpu_count > possible_gpu_count
    or (
        gpu_count is null
        and counted_node_count = node_count
        and (max_gpu_count = 0 or inventory_cpu_count = cpu_count)
    )
