select
    node_days.cluster_id,
    node_days.node_id,
    cast(floor(
        (windows.window_end_date - node_days.day_date) / greatest(windows.judged_days, 1)
    ) as integer) as period,
    windows.window_end_date as last_date,
    windows.judged_days,
    windows.rate_days,
    windows.day_count,
    windows.large_gpu_count,
    {{ exact_sum('3600 * node_days.study_hours', 6) }} / 86400 as in_use_node_days
from {{ ref('fct_node_days') }} as node_days
inner join {{ ref('inp_lemon_windows_chosen') }} as windows using (cluster_id)
group by all
