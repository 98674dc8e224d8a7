with

kernel_messages as (

    select * from {{ source_table('raw', 'kernel_messages') }}
    where disposition = 'loaded'

)

select
    cluster_id,
    path as source_path,
    line_number as source_line_number,
    node_id,
    occurred_at,
    time_quality,
    kind,
    -- For lines read by an earlier version, only the kind is known.
    coalesce(rule, kind) as rule,
    code,
    pci_address,
    mig_gpu_instance,
    mig_compute_instance,
    link as nvlink_number,
    process_id,
    process_name,
    is_fatal,
    recovery_action,
    repeat_count,
    line_count,
    message,
    version
from kernel_messages
