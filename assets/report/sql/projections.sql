-- MTTF projected to other sizes. One row per cluster and size.
select * from estimates.est_mttf_projections
order by cluster_id, gpu_count
