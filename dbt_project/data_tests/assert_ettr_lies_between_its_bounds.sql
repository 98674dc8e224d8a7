-- 0 <= low <= value <= high <= 1, W = Q + R + U, and no run is productive for longer than it was scheduled.
-- Waiting lowers ETTR and not the progress ratio.
{{ config(tags=['judged_with_the_code']) }}

select
    cluster_id,
    run_id,
    queue_hours,
    scheduled_hours,
    productive_hours_low,
    productive_hours,
    productive_hours_high,
    unproductive_hours,
    wallclock_hours,
    ettr_low,
    ettr,
    ettr_high,
    progress_ratio_low,
    progress_ratio,
    progress_ratio_high
from {{ ref('fct_job_runs') }}
where
    not (
        productive_hours_low >= 0
        and productive_hours_low <= productive_hours
        and productive_hours <= productive_hours_high
        and productive_hours_high <= scheduled_hours + 1e-9
    )
    or abs(wallclock_hours - queue_hours - productive_hours - unproductive_hours) > 1e-6
    or (
        wallclock_hours > 0
        and not coalesce(ettr_low >= 0 and ettr_low <= ettr and ettr <= ettr_high and ettr_high <= 1, false)
    )
    or (wallclock_hours = 0 and ettr is not null)
    or (
        scheduled_hours > 0
        and not coalesce(
            coalesce(ettr, 0) <= progress_ratio + 1e-9
            and progress_ratio_low >= 0
            and progress_ratio_low <= progress_ratio
            and progress_ratio <= progress_ratio_high
            and progress_ratio_high <= 1 + 1e-9,
            false
        )
    )
    or (scheduled_hours = 0 and progress_ratio is not null)
