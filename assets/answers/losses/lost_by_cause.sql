-- Work lost in failed attempts, weighted by the probability of infrastructure: 7 causes, and the others as one.
-- One row per cluster, job size and cause.
with lost as (
    select cluster_id, gpu_size_bin, failure_category, sum(posterior_probability * lost_gpu_hours) as gpu_hours
    from marts.fct_failures
    group by cluster_id, gpu_size_bin, failure_category
),

ranked as (
    select
        cluster_id,
        failure_category,
        row_number() over (partition by cluster_id order by sum(gpu_hours) desc, failure_category) <= 7 as is_shown
    from lost
    group by cluster_id, failure_category
    having sum(gpu_hours) > 0
)

select
    cluster_id,
    gpu_size_bin,
    if(is_shown, failure_category, null) as failure_category,
    round(sum(gpu_hours), 6) as gpu_hours
from lost
inner join ranked using (cluster_id, failure_category)
where gpu_hours > 0
group by all
order by all
