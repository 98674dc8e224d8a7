-- Splitting attempts with known nodes over days and nodes keeps their GPU time. If an export has only the number of
-- nodes, no node has the time.
{{ config(meta={'dagster': {'ref': {'name': 'fct_node_days'}}}) }}

with

node_days as (

    select
        cluster_id,
        sum(allocated_gpu_hours) as gpu_hours
    from {{ ref('fct_node_days') }}
    group by cluster_id

),

attempts as (

    select
        cluster_id,
        sum(gpu_count * exposure_seconds / 3600) as gpu_hours
    from {{ ref('fct_attempts') }}
    where attempt_id in (select attempt_id from {{ ref('fct_attempt_nodes') }})
    group by cluster_id

)

select
    attempts.cluster_id,
    attempts.gpu_hours,
    node_days.gpu_hours as node_day_gpu_hours
from attempts
left join node_days on attempts.cluster_id = node_days.cluster_id
where
    abs(coalesce(attempts.gpu_hours, 0) - coalesce(node_days.gpu_hours, 0))
    > 1e-6 * (1 + coalesce(attempts.gpu_hours, 0))
