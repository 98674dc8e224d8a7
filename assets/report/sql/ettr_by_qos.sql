-- ETTR of long runs by QOS, of clusters with several. One row per cluster, QOS and size bin.
select * from estimates.est_ettr_by_qos
qualify count(distinct qos) over (partition by cluster_id) > 1
order by cluster_id, qos, gpu_size_bin
