-- What attribution would explain with other windows. One row per cluster and window.
select
    cluster_id,
    before_seconds,
    after_seconds,
    is_configured,
    attributed_count,
    failed_count,
    coincidence_count,
    completed_count,
    attributed_ratio,
    chance_ratio,
    chance_ratio_low,
    chance_ratio_high,
    corrected_ratio,
    corrected_ratio_low,
    corrected_ratio_high,
    credible_ratio,
    confidence_level,
    note
from estimates.est_attribution_windows
order by cluster_id, before_seconds, after_seconds
