-- Lists of lemons of the past, each judged by the period after it, the oldest first. One row per cluster and list.
select * from estimates.est_lemon_evaluations
order by cluster_id, window_end_date nulls last
