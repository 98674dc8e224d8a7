-- Failures per 1,000 node-days. One row per cluster, population and way of counting.
select
    cluster_id,
    population,
    counted_as,
    failure_count,
    node_days,
    failures_per_1000_node_days,
    failures_per_1000_node_days_low,
    failures_per_1000_node_days_high,
    unexplained_count,
    is_reference,
    confidence_level,
    note
from estimates.est_failure_rates
order by cluster_id, population, counted_as
