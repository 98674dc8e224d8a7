select
    attempts.cluster_id,
    sum(attempts.gpu_hours) as known_gpu_hours,
    coalesce(sum(attempts.gpu_hours) filter (where attempts.gpu_utilisation < 0.05), 0) as held_gpu_hours,
    count(*) filter (where attempts.gpu_utilisation < 0.05) as attempt_count,
    count(distinct attempts.user_name) filter (where attempts.gpu_utilisation < 0.05) as user_count
from {{ ref('fct_attempts') }} as attempts
inner join {{ ref('dim_clusters') }} as clusters using (cluster_id)
where
    attempts.gpu_utilisation is not null
    and attempts.gpu_hours > 0
    and attempts.ended_at > clusters.study_from_at
    and attempts.ended_at <= clusters.study_to_at
group by attempts.cluster_id
