select
    cluster_id,
    attempt_id,
    submitted_at,
    started_at,
    ended_at,
    queue_seconds,
    runtime_seconds
from {{ ref('fct_attempts') }}
where
    runtime_seconds < 0
    or queue_seconds < 0
    or started_at > ended_at
    or started_at < submitted_at
    or (has_ended and runtime_seconds is null)
    or (is_terminal and not has_ended)
    or gpu_hours < 0
