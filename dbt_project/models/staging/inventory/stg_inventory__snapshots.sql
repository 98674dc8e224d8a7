with

snapshots as (

    select * from {{ source_table('raw', 'nodes') }}
    where disposition in ('loaded', 'duplicate')

)

select
    cluster_id,
    path as source_path,
    line_number as source_line_number,
    node_id,
    captured_at,
    upper(state) as state,
    booted_at,
    nullif(trim(reason), '') as reason,
    reason_user,
    reason_at,
    kernel_version,
    slurm_version
from snapshots
