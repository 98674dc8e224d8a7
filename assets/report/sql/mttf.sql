-- MTTF by job size. One row per cluster and size bin.
select * from estimates.est_mttf_by_size
order by cluster_id, gpu_size_bin
