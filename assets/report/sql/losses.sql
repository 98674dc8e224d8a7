-- GPU time lost in failed attempts. One row per cluster.
select
    cluster_id,
    sum(lost_gpu_hours) as first_order_gpu_hours,
    count(*) as failure_count,
    count(*) filter (where lost_gpu_hours is null) as unknown_loss_count
from marts.fct_failures
group by cluster_id
