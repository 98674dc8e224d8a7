-- Finished runs whose true productive time lies within the published bounds. Checkpoints are not in the logs.
with

attempts as (

    select
        truth.attempts.run_number,
        found.attempts.run_id,
        truth.attempts.productive_seconds
    from truth.attempts
    inner join found.attempts using (attempt_id)

),

-- Only runs put together as they were: for another set of attempts the bounds are about something else.
whole_runs as (

    select
        any_value(run_id) as run_id,
        sum(productive_seconds) as productive_seconds,
        count(*) as attempt_count
    from attempts
    group by run_number
    having count(distinct run_id) = 1

),

judged as (

    select
        found.job_runs.node_count,
        found.job_runs.scheduled_hours,
        whole_runs.productive_seconds / 3600 between found.job_runs.productive_hours_low - 0.001
        and found.job_runs.productive_hours_high + 0.001 as is_within
    from whole_runs
    inner join found.job_runs using (run_id)
    where
        found.job_runs.attempt_count = whole_runs.attempt_count
        and found.job_runs.is_complete
        and found.job_runs.started_at is not null

)

select
    'runs with true productive time within the bounds' as item,
    count(*) filter (is_within) as count,
    count(*) as total
from judged
union all
select '... on several nodes', count(*) filter (is_within), count(*)
from judged
where node_count > 1
union all
select '... on several nodes, of 24 hours and more', count(*) filter (is_within), count(*)
from judged
where node_count > 1 and scheduled_hours >= 24
