with

clusters as (

    select * from {{ source_table('raw', 'clusters') }}

)

select
    cluster_id,
    is_simulated,
    timezone,
    gpus_per_node,
    gpu_model,
    price_per_gpu_hour,
    currency,
    attribution_before_seconds,
    attribution_after_seconds,
    attribution_priority,
    runs_chain as is_run_chaining,
    runs_chain_gap_seconds,
    checkpoint_minutes,
    restart_minutes,
    write_minutes,
    availability_objective,
    lemon_window_days,
    lemon_rate_days,
    lemon_thresholds,
    quarantine_max_share as quarantine_max_ratio,
    annotations,
    rack_pattern,
    switch_pattern,
    nvlink_domain_pattern,
    position_pattern,
    units_in_service,
    config_path,
    config_sha256
from clusters
