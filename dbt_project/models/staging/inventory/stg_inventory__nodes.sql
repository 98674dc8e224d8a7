with

nodes as (

    select * from {{ source_table('raw', 'nodes') }}
    where disposition = 'loaded'

)

select
    cluster_id,
    path as source_path,
    line_number as source_line_number,
    node_id,
    node_name,
    captured_at,
    upper(state) as state,
    gpu_count,
    gpu_model,
    cpu_count,
    memory_mib,
    partitions,
    booted_at,
    nullif(trim(reason), '') as reason,
    reason_user,
    reason_at
from nodes
