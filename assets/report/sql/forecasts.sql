-- What each month was expected to bring, and what it brought. One row per cluster and month.
select * from estimates.est_forecast_scores
order by cluster_id, month_date
