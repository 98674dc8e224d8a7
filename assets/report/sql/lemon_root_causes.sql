-- What the repair tickets of the lemons name. One row per cluster and root cause.
select
    cluster_id,
    root_cause,
    node_count,
    ratio,
    ratio_low,
    ratio_high,
    confidence_level,
    note
from estimates.est_lemon_root_causes
order by cluster_id, node_count desc, root_cause
