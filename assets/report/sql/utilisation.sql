-- Allocated GPU-hours and GPU-hours in service, both within the observed period. One row per cluster.
with node_days as (
    select
        days.cluster_id,
        days.allocated_gpu_hours,
        days.out_of_service_hours,
        nodes.gpu_count,
        greatest(
            0,
            (epoch(least(days.day_date + interval 1 day, coalesce(clusters.data_through_at, clusters.last_at)))
                - epoch(greatest(days.day_date, clusters.first_at))) / 3600
            - coalesce(days.out_of_service_hours, 0)
        ) as in_service_hours
    from marts.fct_node_days as days
    inner join marts.dim_nodes as nodes using (cluster_id, node_id)
    inner join marts.dim_clusters as clusters using (cluster_id)
)

select
    cluster_id,
    sum(allocated_gpu_hours) as allocated_gpu_hours,
    sum(in_service_hours * gpu_count) as in_service_gpu_hours,
    count(*) filter (where out_of_service_hours is null) as unknown_outage_count,
    count(*) filter (where allocated_gpu_hours is null) as unknown_allocation_count
from node_days
group by cluster_id
