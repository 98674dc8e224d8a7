-- Job sizes, the unknown last. One row per cluster and size bin.
select cluster_id, gpu_size_bin, job_count, job_ratio, gpu_hours, gpu_time_ratio
from marts.agg_job_sizes
order by cluster_id, gpu_size_bin nulls last
