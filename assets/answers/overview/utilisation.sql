-- GPU-hours in service and allocated over all days, and what is unknown of them. One row per cluster.
-- A node counts for the part of a day that lies in the observed period.
with node_days as (
    select
        days.*,
        days.day_date < cast(nodes.first_seen_at as date) or days.day_date > cast(nodes.last_seen_at as date) as is_unseen,
        nodes.gpu_count * greatest(
            0,
            (epoch(least(days.day_date + interval 1 day, coalesce(clusters.data_through_at, clusters.last_at)))
                - epoch(greatest(days.day_date, clusters.first_at))) / 3600
            - coalesce(days.out_of_service_hours, 0)
        ) as in_service_gpu_hours
    from marts.fct_node_days as days
    inner join marts.dim_nodes as nodes using (cluster_id, node_id)
    inner join marts.dim_clusters as clusters using (cluster_id)
)

select
    cluster_id,
    sum(allocated_gpu_hours) as allocated_gpu_hours,
    sum(in_service_gpu_hours) as in_service_gpu_hours,
    sum(allocated_gpu_hours) / nullif(sum(in_service_gpu_hours), 0) as allocated_ratio,
    coalesce(sum(in_service_gpu_hours) filter (where is_unseen), 0) as unseen_gpu_hours,
    count(*) filter (where allocated_gpu_hours is null) as unknown_allocation_count,
    count(distinct day_date) as day_count,
    count(distinct day_date) filter (where out_of_service_hours is null) as unknown_outage_day_count
from node_days
group by cluster_id
