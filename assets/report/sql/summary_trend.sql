-- The failure rate of the trailing 30 days, all causes together, from the day on which a week of them is known.
-- One row per cluster and day.
select
    cluster_id,
    day_date,
    1000 * sum(failure_count_30d) / nullif(max(node_days_30d), 0) as failures_per_1000_node_days_30d
from marts.agg_failure_rates_daily
where window_day_count >= 7
group by cluster_id, day_date
order by cluster_id, day_date
