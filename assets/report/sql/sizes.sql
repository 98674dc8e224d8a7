-- Job sizes, the unknown last. One row per cluster and size bin.
select * from marts.agg_job_sizes
order by cluster_id, gpu_size_bin nulls last
