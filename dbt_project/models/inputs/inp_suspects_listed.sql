select
    suspects.cluster_id,
    suspects.incident_id,
    suspects.node_id,
    suspects.is_known,
    suspects.incident_probability,
    suspects.failed_at,
    suspects.lost_gpu_hours,
    cast(suspects.failed_at as date) between windows.rate_start_date and windows.window_end_date as is_in_window,
    cast(floor(
        (windows.window_end_date - cast(suspects.failed_at as date)) / greatest(windows.judged_days, 1)
    ) as integer) as period
from {{ ref('fct_incident_suspects') }} as suspects
inner join {{ ref('inp_lemon_windows_chosen') }} as windows using (cluster_id)
inner join {{ ref('dim_clusters') }} as clusters using (cluster_id)
anti join {{ ref('dim_study_gaps') }} as gaps
    on
        suspects.cluster_id = gaps.cluster_id
        and suspects.failed_at > gaps.from_at
        and suspects.failed_at <= gaps.to_at
where suspects.failed_at > clusters.study_from_at and suspects.failed_at <= clusters.study_to_at
