select
    cluster_id,
    node_id,
    observed_at,
    cleared_at,
    source,
    severity,
    check_name,
    is_repeat,
    coalesce(duplicate_of_event_id, event_id) as fault_id,
    lower(trim(check_name)) as check_key,
    list_filter([split_part(failure_category, '_', 1), split_part(co_category, '_', 1)], lambda x: x != 'unmapped')
        as components
from {{ ref('fct_health_events') }}
