-- The 20 crash loops of each cluster that cost most. One row per job run with a crash loop.
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
    lost_gpu_hours,
    count(*) over (partition by cluster_id) as crash_loop_count
from marts.agg_crash_loops
qualify row_number() over (
    partition by cluster_id order by lost_gpu_hours desc nulls last, consecutive_failure_count desc, run_id
) <= 20
order by cluster_id, lost_gpu_hours desc nulls last, consecutive_failure_count desc, run_id
