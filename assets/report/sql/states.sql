-- How attempts ended, the infrastructure's row last. One row per cluster and state.
select cluster_id, state, is_infrastructure, attempt_count, attempt_ratio, gpu_hours, gpu_time_ratio
from marts.agg_job_states
order by cluster_id, is_infrastructure, attempt_count desc, state
