-- An outage ends after it starts, is asked for before it starts, and is open exactly when it has no end.
select
    cluster_id,
    outage_id,
    requested_at,
    started_at,
    ended_at
from {{ ref('fct_node_outages') }}
where
    ended_at < started_at
    or requested_at > started_at
    or is_open != (ended_at is null)
