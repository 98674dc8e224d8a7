-- Work lost in failed attempts, by cause and job size. One row per cluster, cause and size bin.
select
    failures.cluster_id,
    failures.failure_category,
    coalesce(categories.label, failures.failure_category) as label,
    attempts.gpu_size_bin,
    count(*) as failure_count,
    sum(failures.lost_gpu_hours) as lost_gpu_hours
from marts.fct_failures as failures
left join marts.fct_attempts as attempts using (cluster_id, attempt_id)
left join marts.dim_failure_categories as categories on failures.failure_category = categories.failure_category
group by all
order by failures.cluster_id, lost_gpu_hours desc nulls last, failures.failure_category, attempts.gpu_size_bin
