-- Users whose jobs held GPUs without using them, by GPU-hours. One row per cluster and user.
select
    attempts.cluster_id,
    attempts.account,
    attempts.user_name,
    count(*) as attempt_count,
    sum(attempts.gpu_hours) as held_gpu_hours
from marts.fct_attempts as attempts
inner join marts.dim_clusters as clusters using (cluster_id)
where
    attempts.gpu_utilisation < 0.05
    and attempts.gpu_hours > 0
    and attempts.ended_at > clusters.study_from_at
    and attempts.ended_at <= clusters.study_to_at
group by attempts.cluster_id, attempts.account, attempts.user_name
qualify row_number() over (
    partition by attempts.cluster_id order by held_gpu_hours desc, attempts.account, attempts.user_name
) <= 20
order by held_gpu_hours desc, attempts.account, attempts.user_name
