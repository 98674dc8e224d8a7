with

snapshots as (

    select * from {{ source_table('raw', 'nodes') }}
    where disposition in ('loaded', 'duplicate')

),

nodes as (

    select * from snapshots
    where disposition = 'loaded'

),

-- Columns that the latest snapshot lacks: sinfo may leave out the GPUs that slurm.conf defines.
known_facts as (

    select
        cluster_id,
        node_id,
        {{ last_by('gpu_count', '(captured_at, path, line_number)') }} as gpu_count,
        max(gpu_count) as max_gpu_count,
        {{ last_by('gpu_model', '(captured_at, path, line_number)') }} as gpu_model,
        {{ last_by('cpu_count', '(captured_at, path, line_number)') }} as cpu_count,
        {{ last_by('memory_mib', '(captured_at, path, line_number)') }} as memory_mib,
        {{ last_by('rack', '(captured_at, path, line_number)') }} as rack,
        {{ last_by('switch', '(captured_at, path, line_number)') }} as switch,
        {{ last_by('nvlink_domain', '(captured_at, path, line_number)') }} as nvlink_domain,
        {{ last_by('position', '(captured_at, path, line_number)') }} as position
    from snapshots
    group by cluster_id, node_id

)

select
    nodes.cluster_id,
    nodes.path as source_path,
    nodes.line_number as source_line_number,
    nodes.node_id,
    nodes.node_name,
    nodes.captured_at,
    upper(nodes.state) as state,
    coalesce(nodes.gpu_count, known_facts.gpu_count) as gpu_count,
    known_facts.max_gpu_count,
    coalesce(nodes.gpu_model, known_facts.gpu_model) as gpu_model,
    coalesce(nodes.cpu_count, known_facts.cpu_count) as cpu_count,
    coalesce(nodes.memory_mib, known_facts.memory_mib) as memory_mib,
    known_facts.rack,
    known_facts.switch,
    known_facts.nvlink_domain,
    known_facts.position,
    nodes.partitions,
    nodes.booted_at,
    nullif(trim(nodes.reason), '') as reason,
    nodes.reason_user,
    nodes.reason_at
from nodes
left join known_facts
    on
        nodes.cluster_id = known_facts.cluster_id
        and nodes.node_id = known_facts.node_id
