with

squeue_exclusions as (

    select * from {{ source_table('raw', 'squeue_exclusions') }}
    where disposition = 'loaded'

)

select
    cluster_id,
    path as source_path,
    line_number as source_line_number,
    job_id_raw,
    node_id,
    seen_at
from squeue_exclusions
