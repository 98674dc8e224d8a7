-- Repairs by cause and action, first all causes together, then the causes with the most repairs; and the median effect
-- that inconclusive comparisons could have detected. One row per cluster, cause and action.
select
    *,
    case repair_action
        when 'none' then 'nothing (a false return)'
        when 'unknown' then 'not known'
        else repair_action
    end as done,
    24 * days_to_relapse as hours_to_relapse,
    sum(repair_count) over (partition by cluster_id, failure_category) as repairs_of_cause,
    sum(repair_count) filter (where failure_category = 'all') over (partition by cluster_id) as repairs_of_all,
    median(detectable_effect) filter (where verdict = 'cannot tell') over (partition by cluster_id) as median_effect
from estimates.est_repairs
order by
    cluster_id, failure_category != 'all', repairs_of_cause desc, failure_category, repair_count desc, repair_action
