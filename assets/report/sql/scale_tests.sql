-- Whether failures per node-day depend on the size of a job. One row per cluster.
select
    cluster_id,
    beta,
    beta_low,
    beta_high,
    equivalence_margin,
    verdict,
    size_count,
    node_count_min,
    node_count_max,
    confidence_level,
    event_count,
    exposure,
    note
from estimates.est_scale_tests
order by cluster_id
