-- One failure rate over another, in the population that is quoted. One row per comparison and way of counting.
select
    comparison,
    cluster_id,
    other_cluster_id,
    boundary_date,
    annotation,
    population,
    counted_as,
    is_simulated,
    other_is_simulated,
    failure_count,
    node_days,
    rate,
    other_failure_count,
    other_node_days,
    other_rate,
    ratio,
    ratio_low,
    ratio_high,
    confidence_level,
    note
from estimates.est_rate_ratios
qualify bool_or(is_reference) over (
    partition by comparison, cluster_id, other_cluster_id, boundary_date, population
)
order by comparison = 'clusters', comparison, cluster_id, other_cluster_id, boundary_date, counted_as
