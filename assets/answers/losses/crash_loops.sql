-- Crash loops, the most expensive first. One row per job run with a crash loop.
with jobs as (
    select cluster_id, run_id, min_by(job_id, run_attempt_number) as job_id
    from marts.fct_attempts
    where (cluster_id, run_id) in (select (cluster_id, run_id) from marts.agg_crash_loops)
    group by cluster_id, run_id
)

select
    loops.*,
    epoch(loops.ended_at - loops.started_at) / 3600 as failing_hours,
    jobs.job_id
from marts.agg_crash_loops as loops
left join jobs using (cluster_id, run_id)
order by
    loops.cluster_id, loops.lost_gpu_hours desc nulls last, loops.consecutive_failure_count desc, loops.run_id
