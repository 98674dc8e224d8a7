-- The months of each cluster's reference rate, in order: they tell how far the rate of days to come may lie from it.
select
    cluster_id,
    list(month_failure_count order by month_date) as month_failure_counts,
    list(month_node_days order by month_date) as month_node_days
from estimates.est_forecast_scores
group by cluster_id
