-- How often large attempts fail, with lemons and without. One row per cluster and population.
select
    cluster_id,
    population,
    failure_ratio,
    failure_ratio_low,
    failure_ratio_high,
    attempt_count,
    failure_count,
    large_gpu_count,
    lemon_count,
    confidence_level,
    note
from estimates.est_lemon_effects
order by
    cluster_id,
    list_position(['all', 'all_without_lemon_failures', 'with_lemon_node', 'without_lemon_node'], population)
