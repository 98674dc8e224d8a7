-- Failures and node-days of the trailing 30 days, by cause. One row per cluster, day and cause.
select
    daily.cluster_id,
    daily.day_date,
    daily.failure_category,
    coalesce(categories.label, daily.failure_category) as label,
    daily.window_day_count,
    daily.failure_count,
    daily.failure_count_30d,
    daily.node_days_30d,
    daily.failures_per_1000_node_days_30d
from marts.agg_failure_rates_daily as daily
left join marts.dim_failure_categories as categories on daily.failure_category = categories.failure_category
order by daily.cluster_id, daily.day_date, daily.failure_category
