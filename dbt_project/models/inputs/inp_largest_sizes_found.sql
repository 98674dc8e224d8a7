select
    sizes.cluster_id,
    max(sizes.gpu_size_bin) as gpu_count,
    nullif(any_value(clusters.gpus_per_node), 0) as gpus_per_node,
    any_value(clusters.gpu_count) as fleet_gpu_count,
    any_value(clusters.gpu_node_count) as fleet_node_count
from (
    select
        cluster_id,
        gpu_size_bin,
        sum(node_days) / sum(sum(node_days)) over (partition by cluster_id) as share
    from {{ ref('inp_exposure_days_summed') }}
    group by cluster_id, gpu_size_bin
) as sizes
inner join {{ ref('dim_clusters') }} as clusters using (cluster_id)
where sizes.share >= 0.01 and sizes.gpu_size_bin > 0
group by sizes.cluster_id
