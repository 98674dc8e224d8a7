select
    attempts.cluster_id,
    failures.culprit_node_id as node_id,
    cast(floor(
        (windows.window_end_date - cast(attempts.ended_at as date)) / greatest(windows.judged_days, 1)
    ) as integer) as period,
    count(*) as attempt_count,
    coalesce({{ exact_sum('failures.posterior_probability') }}, 0) as failure_count
from {{ ref('fct_attempts') }} as attempts
inner join {{ ref('inp_lemon_windows_chosen') }} as windows using (cluster_id)
inner join {{ ref('dim_clusters') }} as clusters using (cluster_id)
left join {{ ref('fct_failures') }} as failures using (cluster_id, attempt_id)
anti join {{ ref('dim_study_gaps') }} as gaps
    on
        attempts.cluster_id = gaps.cluster_id
        and attempts.ended_at > gaps.from_at
        and attempts.ended_at <= gaps.to_at
where
    attempts.is_terminal
    and attempts.started_at is not null
    and attempts.job_gpu_count >= windows.large_gpu_count
    and attempts.ended_at > clusters.study_from_at
    and attempts.ended_at <= clusters.study_to_at
group by all
