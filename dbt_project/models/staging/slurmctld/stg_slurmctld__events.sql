with

slurmctld_events as (

    select * from {{ source_table('raw', 'slurmctld_events') }}
    where disposition = 'loaded'

)

select
    cluster_id,
    path as source_path,
    line_number as source_line_number,
    logged_at,
    kind,
    job_id_raw,
    instigator_job_id_raw,
    instigator_array_job_id,
    preempt_mode,
    node_id,
    upper(state) as state,
    nullif(trim(reason), '') as reason,
    message,
    rule_pattern,
    version
from slurmctld_events
