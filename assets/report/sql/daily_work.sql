-- Work done and lost day by day. One row per cluster and day.
with lost as (
    select
        cluster_id,
        cast(failed_at as date) as day_date,
        lost_gpu_hours
    from marts.fct_failures
    union all
    select
        cluster_id,
        cast(preempted_at as date) as day_date,
        lost_gpu_hours
    from marts.fct_preemptions
    where is_second_order
),

lost_days as (
    select
        cluster_id,
        day_date,
        sum(lost_gpu_hours) as lost_gpu_hours
    from lost
    group by cluster_id, day_date
),

work_days as (
    select
        days.cluster_id,
        days.day_date,
        sum(days.allocated_gpu_hours) as allocated_gpu_hours,
        sum(nodes.gpu_count * greatest(0, 24 - coalesce(days.out_of_service_hours, 0))) as in_service_gpu_hours
    from marts.fct_node_days as days
    inner join marts.dim_nodes as nodes using (cluster_id, node_id)
    group by days.cluster_id, days.day_date
)

select
    work_days.cluster_id,
    work_days.day_date,
    work_days.allocated_gpu_hours,
    work_days.in_service_gpu_hours,
    coalesce(lost_days.lost_gpu_hours, 0) as lost_gpu_hours
from work_days
left join lost_days using (cluster_id, day_date)
order by work_days.cluster_id, work_days.day_date
