-- Whether attempts fail more or less as they run. One row per cluster and size bin.
select * from estimates.est_time_to_failure
order by cluster_id, gpu_size_bin
