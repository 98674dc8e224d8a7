-- When rates changed, or why no change was found. One row per cluster, cause and day of a change.
select
    changes.cluster_id,
    changes.failure_category,
    coalesce(categories.label, changes.failure_category) as label,
    changes.changed_at,
    changes.changed_at_low,
    changes.changed_at_high,
    changes.rate_before,
    changes.rate_before_low,
    changes.rate_before_high,
    changes.rate_after,
    changes.rate_after_low,
    changes.rate_after_high,
    changes.ratio,
    changes.ratio_low,
    changes.ratio_high,
    changes.annotation,
    changes.trend_score,
    changes.trend_p_value,
    changes.confidence_level,
    changes.event_count,
    changes.exposure,
    changes.note
from estimates.est_rate_changes as changes
left join marts.dim_failure_categories as categories on changes.failure_category = categories.failure_category
order by changes.cluster_id, changes.failure_category != 'all', changes.failure_category, changes.changed_at
