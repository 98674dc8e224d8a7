-- 0 <= low <= value <= high <= 1, W = Q + R + U, and no run is productive for longer than it was scheduled.
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
    ettr_high
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
