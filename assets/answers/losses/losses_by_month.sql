-- Work lost by month and account, each loss with its probability. One row per cluster, month and account.
select
    cluster_id,
    month_date,
    account,
    sum(expected_failure_count) as expected_failure_count,
    sum(second_order_count) as second_order_count,
    sum(expected_lost_gpu_hours) as expected_lost_gpu_hours,
    sum(expected_lost_cost) as expected_lost_cost
from marts.agg_lost_hours_by_account_monthly
group by cluster_id, month_date, account
order by month_date desc, expected_lost_gpu_hours desc nulls last, account nulls last
