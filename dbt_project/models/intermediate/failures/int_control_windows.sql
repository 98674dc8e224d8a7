with

attempts as (

    select * from {{ ref('int_attempts') }}
    where
        is_terminal
        and state = 'COMPLETED'
        and started_at is not null

),

clusters as (

    select * from {{ ref('stg_config__clusters') }}

),

nodes as (

    select * from {{ ref('stg_inventory__nodes') }}

),

windows as (

    select
        attempts.cluster_id,
        least(attempts.runtime_seconds, clusters.attribution_before_seconds) as before_seconds,
        clusters.attribution_after_seconds as after_seconds,
        clusters.gpus_per_node,
        {{ unnest_list('attempts.node_ids') }} as node_id
    from attempts
    inner join clusters on attempts.cluster_id = clusters.cluster_id

)

select
    windows.cluster_id,
    windows.node_id,
    coalesce(max(coalesce(nodes.gpu_count, windows.gpus_per_node)), -1) as node_gpu_count,
    count(*) as window_count,
    sum(least(windows.before_seconds, 30)) as last_half_minute_seconds,
    sum(least(windows.before_seconds, 120)) as last_two_minutes_seconds,
    sum(least(windows.before_seconds, 300)) as last_five_minutes_seconds,
    sum(windows.before_seconds) as before_seconds,
    sum(windows.after_seconds) as after_seconds
from windows
left join nodes
    on
        windows.cluster_id = nodes.cluster_id
        and windows.node_id = nodes.node_id
group by windows.cluster_id, windows.node_id
