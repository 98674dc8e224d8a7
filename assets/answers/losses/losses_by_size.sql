-- Losses by job size, weighted by the probability of infrastructure, and whether the statement adds up to them.
-- One row per cluster and size, and one for all sizes.
with first_order as (
    select cluster_id, gpu_size_bin, sum(posterior_probability * lost_gpu_hours) as gpu_hours
    from marts.fct_failures
    group by cluster_id, gpu_size_bin
),

accounts as (
    select cluster_id, sum(expected_lost_gpu_hours) as stated_gpu_hours
    from marts.agg_lost_hours_by_account
    group by cluster_id
),

sizes as (
    select
        lost.*,
        lost.failure_count > 0 or lost.second_order_count > 0 as is_lost,
        if(lost.failure_count = 0, 0, first_order.gpu_hours) as first_hours,
        if(lost.second_order_count = 0, 0, round(lost.expected_lost_gpu_hours - coalesce(first_order.gpu_hours, 0), 6))
            as second_hours
    from marts.agg_lost_goodput as lost
    left join first_order
        on lost.cluster_id = first_order.cluster_id and lost.gpu_size_bin is not distinct from first_order.gpu_size_bin
)

select
    cluster_id,
    gpu_size_bin,
    grouping(gpu_size_bin) = 1 as is_total,
    bool_or(is_lost) as has_loss,
    sum(expected_failure_count) as expected_failure_count,
    sum(second_order_count) as second_order_count,
    sum(instigator_unknown_count) as instigator_unknown_count,
    sum(instigator_unknown_gpu_hours) filter (where instigator_unknown_count > 0) as instigator_unknown_gpu_hours,
    -- If every loss is of unknown size, the sum is unknown.
    if(has_loss, sum(first_hours) filter (where is_lost), 0) as expected_first_order_gpu_hours,
    if(has_loss, sum(second_hours) filter (where is_lost), 0) as expected_second_order_gpu_hours,
    if(has_loss, sum(sizes.expected_lost_gpu_hours) filter (where is_lost), 0) as expected_lost_gpu_hours,
    expected_second_order_gpu_hours / nullif(expected_first_order_gpu_hours + expected_second_order_gpu_hours, 0)
        as second_order_ratio,
    any_value(stated_gpu_hours) as stated_gpu_hours,
    abs(coalesce(any_value(stated_gpu_hours), 0) - coalesce(sum(sizes.expected_lost_gpu_hours), 0))
    <= greatest(1e-3, 1e-6 * any_value(stated_gpu_hours)) as is_stated
from sizes
left join accounts using (cluster_id)
group by grouping sets ((cluster_id, gpu_size_bin), (cluster_id))
order by is_total, gpu_size_bin nulls last
