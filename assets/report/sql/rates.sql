-- Failures per 1,000 node-days. One row per cluster, population and way of counting.
select * from estimates.est_failure_rates
order by cluster_id, population, counted_as
