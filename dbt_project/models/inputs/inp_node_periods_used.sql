with windows as (
    select
        cluster_id,
        window_end_date,
        judged_days,
        rate_days,
        day_count,
        large_gpu_count
    from {{ ref('inp_lemon_windows_chosen') }}
),

used_days as (
    select
        node_days.cluster_id,
        node_days.node_id,
        node_days.day_date,
        node_days.study_hours,
        cast(floor((windows.window_end_date - node_days.day_date) / greatest(windows.judged_days, 1)) as integer)
            as period
    from {{ ref('fct_node_days') }} as node_days
    inner join windows using (cluster_id)
)

select
    used_days.cluster_id,
    used_days.node_id,
    used_days.period,
    any_value(windows.window_end_date) as last_date,
    any_value(windows.judged_days) as judged_days,
    any_value(windows.rate_days) as rate_days,
    any_value(windows.day_count) as day_count,
    any_value(windows.large_gpu_count) as large_gpu_count,
    {{ exact_sum('3600 * used_days.study_hours', 6) }} / 86400 as in_use_node_days
from used_days
inner join windows using (cluster_id)
group by used_days.cluster_id, used_days.node_id, used_days.period
