-- Each hour of a node has exactly one kind.
{{ config(meta={'dagster': {'ref': {'name': 'agg_availability_monthly'}}}) }}

with

months as (

    select
        *,
        allocated_node_hours + idle_node_hours + planned_out_node_hours + failed_node_hours + unknown_node_hours
            as sum_node_hours
    from {{ ref('agg_availability_monthly') }}

)

select
    cluster_id,
    month_date,
    sum_node_hours,
    total_node_hours
from months
where
    abs(sum_node_hours - total_node_hours) > 1e-9 * (1 + total_node_hours)
    or least(
        allocated_node_hours, idle_node_hours, planned_out_node_hours, failed_node_hours, unknown_node_hours
    ) < 0
    or unmapped_node_hours > failed_node_hours
