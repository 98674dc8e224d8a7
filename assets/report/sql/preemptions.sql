-- Preempted attempts and what is known of who preempted them. One row per cluster.
select
    cluster_id,
    count(*) as preemption_count,
    count(*) filter (where instigator_attempt_id is not null and not is_inferred) as named_count,
    count(*) filter (where instigator_attempt_id is not null and is_inferred) as inferred_count,
    count(*) filter (where instigator_attempt_id is null) as unknown_count,
    count(*) filter (where is_second_order) as second_order_count,
    sum(lost_gpu_hours) as lost_gpu_hours,
    sum(lost_gpu_hours) filter (where is_second_order) as second_order_gpu_hours,
    count(*) filter (where lost_gpu_hours is null) as unknown_loss_count
from marts.fct_preemptions
group by cluster_id
