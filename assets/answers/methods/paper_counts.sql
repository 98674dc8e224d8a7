-- Failures and lost GPU-hours by both rules: weighted by the probability of infrastructure, and as in the paper, which
-- counts every coincidence in full. One row per cluster.
with losses as (
    select
        cluster_id,
        sum(expected_lost_gpu_hours) as expected_lost_gpu_hours,
        sum(first_order_gpu_hours + second_order_gpu_hours) as lost_gpu_hours
    from marts.agg_lost_goodput
    where failure_count > 0 or second_order_count > 0
    group by cluster_id
)

select
    states.cluster_id,
    states.expected_failure_count,
    states.attempt_count as failure_count,
    case when losses.cluster_id is null then 0 else losses.expected_lost_gpu_hours end as expected_lost_gpu_hours,
    case when losses.cluster_id is null then 0 else losses.lost_gpu_hours end as lost_gpu_hours
from marts.agg_job_states as states
left join losses using (cluster_id)
where states.is_infrastructure
order by states.cluster_id
