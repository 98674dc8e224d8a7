-- The result before an onset is older than it, the result that cleared it newer.
select
    cluster_id,
    event_id,
    last_ok_at,
    observed_at,
    cleared_at
from {{ ref('fct_health_events') }}
where
    last_ok_at > observed_at
    or cleared_at < observed_at
