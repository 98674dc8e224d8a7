-- How much of the attribution to each cause is coincidence. One row per cluster and cause.
select
    chance.cluster_id,
    chance.failure_category,
    coalesce(categories.label, chance.failure_category) as label,
    chance.attributed_count,
    chance.failed_count,
    chance.coincidence_count,
    chance.completed_count,
    chance.attributed_ratio,
    chance.chance_ratio,
    chance.chance_ratio_low,
    chance.chance_ratio_high,
    chance.corrected_ratio,
    chance.corrected_ratio_low,
    chance.corrected_ratio_high,
    chance.credible_ratio,
    chance.confidence_level,
    chance.note
from estimates.est_attribution_chance as chance
left join marts.dim_failure_categories as categories on chance.failure_category = categories.failure_category
order by chance.cluster_id, chance.attributed_count desc, chance.failure_category
