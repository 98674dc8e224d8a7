-- Quality of the monthly forecasts: months with the rate inside the limits, and mean log scores of the forecasts and of
-- naive ones over the months that have both. One row per cluster.
select
    cluster_id,
    count(log_score) as scored_count,
    count(*) filter (where log_score is not null and has_rate_inside) as inside_count,
    avg(log_score) filter (where log_score_naive is not null) as mean_log_score,
    avg(log_score_naive) filter (where log_score is not null) as mean_log_score_naive
from estimates.est_forecast_scores
where rate_expected is not null and has_enough_data is not false
group by cluster_id
