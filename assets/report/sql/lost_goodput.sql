-- Losses by size. Expected: each with the probability that infrastructure is the reason; paper: every coincidence in full.
-- One row per cluster and size.
with first_order as (
    select cluster_id, gpu_size_bin, sum(posterior_probability * lost_gpu_hours) as gpu_hours
    from marts.fct_failures
    group by cluster_id, gpu_size_bin
)

select
    lost.*,
    lost.first_order_gpu_hours + lost.second_order_gpu_hours as paper_gpu_hours,
    case when lost.failure_count = 0 then 0 else first_order.gpu_hours end as expected_first_order_gpu_hours,
    round(lost.expected_lost_gpu_hours - coalesce(first_order.gpu_hours, 0), 6) as expected_second_order_gpu_hours
from marts.agg_lost_goodput as lost
left join first_order
    on lost.cluster_id = first_order.cluster_id and lost.gpu_size_bin is not distinct from first_order.gpu_size_bin
order by lost.gpu_size_bin nulls last
