-- How long job runs were, and whether it is known how long each queued, to say why there is no ETTR. One row per cluster.
select
    cluster_id, count(*) as run_count, max(scheduled_hours) as longest_hours,
    bool_or(scheduled_hours >= 24 and queue_hours is null) as is_queue_unknown
from marts.fct_job_runs
group by cluster_id
