-- Incidents before and after each known change. Simultaneous changes share one test; only their first row is shown.
-- One row per cluster, change and cause.
select
    *,
    concat_ws('; ', change, inseparable_from) as changes,
    row_number() over same_test = 1 as is_first,
    is_first
    and has_enough_data is not false
    and (verdict in ('helped', 'hurt') or (failure_category = 'all' and verdict != 'cannot tell')) as is_shown
from estimates.est_changes
window same_test as (partition by cluster_id, failure_category, change_group order by changed_at, change_kind)
order by changed_at, change_kind, failure_category != 'all', failure_category
