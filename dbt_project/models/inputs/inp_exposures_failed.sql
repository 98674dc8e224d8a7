select
    * exclude (
        state, gpu_count, node_count, entry_seconds, exit_seconds, gap_seconds, has_ended, started_at, seen_from_at
    )
from {{ ref('fct_attempt_exposures') }}
where failure_probability > 0 or is_paper_failure
