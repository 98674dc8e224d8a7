-- Crash loops, those that cost most first. One row per job run with a crash loop.
select
    cluster_id,
    run_id,
    user_name,
    account,
    gpu_count,
    started_at,
    ended_at,
    consecutive_failure_count,
    failure_count,
    attempt_count,
    victim_count,
    second_order_victim_count,
    first_order_gpu_hours,
    victim_gpu_hours,
    lost_gpu_hours
from marts.agg_crash_loops
order by cluster_id, lost_gpu_hours desc nulls last, consecutive_failure_count desc, run_id
