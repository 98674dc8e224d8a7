-- Work lost in first and second order, the unknown size last. One row per cluster and size bin.
select
    cluster_id,
    gpu_size_bin,
    failure_count,
    first_order_gpu_hours,
    second_order_count,
    second_order_gpu_hours,
    instigator_unknown_count,
    instigator_unknown_gpu_hours,
    expected_lost_gpu_hours
from marts.agg_lost_goodput
order by cluster_id, gpu_size_bin nulls last
