-- How many job runs there were and how long, to say why there is no ETTR. One row per cluster.
select cluster_id, count(*) as run_count, max(scheduled_hours) as longest_hours
from marts.fct_job_runs
group by cluster_id
