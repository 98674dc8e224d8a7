-- What each month was expected to bring, and what it brought. One row per cluster and month.
select
    cluster_id,
    month_date,
    population,
    is_over,
    node_days,
    failure_count,
    node_days_expected,
    failures_expected,
    failures_expected_low,
    failures_expected_high,
    has_failures_inside,
    failures_per_1000_node_days,
    rate_expected,
    rate_expected_low,
    rate_expected_high,
    has_rate_inside,
    log_score,
    log_score_naive,
    confidence_level,
    method,
    note
from estimates.est_forecast_scores
order by cluster_id, month_date
