-- ETTR of long runs. One row per cluster and size bin.
select * from estimates.est_ettr_by_size
order by cluster_id, gpu_size_bin
