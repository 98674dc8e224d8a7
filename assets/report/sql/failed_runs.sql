-- The first twelve attempts of each job run that infrastructure failed. One row per attempt.
select
    cluster_id, run_id, job_id, attempt_number, state, started_at, ended_at, gpu_count, gpu_hours, source_path,
    source_line_number
from marts.fct_attempts
semi join (from marts.fct_attempts where is_infrastructure_failure) as failed using (cluster_id, run_id)
qualify row_number() over (partition by cluster_id, run_id order by started_at, attempt_id) <= 12
order by cluster_id, run_id, started_at, attempt_id
