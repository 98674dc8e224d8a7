-- Work lost by account, each loss with its probability. One row per cluster and account, and one for all accounts.
select
    cluster_id,
    account,
    grouping(account) = 1 as is_total,
    count(*) as user_count,
    sum(expected_failure_count) as expected_failure_count,
    sum(second_order_count) as second_order_count,
    sum(gpu_unknown_count) as gpu_unknown_count,
    sum(expected_lost_gpu_hours) as expected_lost_gpu_hours,
    sum(expected_lost_cost) as expected_lost_cost
from marts.agg_lost_hours_by_account
group by grouping sets ((cluster_id, account), (cluster_id))
order by is_total, expected_lost_gpu_hours desc nulls last, account nulls last
