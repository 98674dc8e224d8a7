-- How much was observed in each cluster, and how much of it lacks a GPU count or a user. One row per cluster.
select
    cluster_id,
    count(*) as record_count,
    count(*) filter (where is_terminal) as attempt_count,
    count(distinct job_id_raw) filter (where is_terminal) as job_count,
    count(*) filter (where is_terminal and gpu_count is null) as unknown_gpu_count,
    count(*) filter (where gpu_count_source = 'refuted') as refuted_gpu_count,
    count(*) filter (where is_terminal and user_name is null) as unknown_user_count,
    sum(gpu_hours) filter (where is_terminal) as gpu_hours
from marts.fct_attempts
group by cluster_id
