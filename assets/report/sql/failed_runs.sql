-- The attempts of each piece of work that infrastructure failed, the first twelve. One row per attempt.
with failed as (
    select distinct
        attempts.cluster_id,
        attempts.run_id
    from marts.fct_failures as failures
    inner join marts.fct_attempts as attempts using (cluster_id, attempt_id)
    where attempts.run_id is not null
)

select
    attempts.cluster_id,
    attempts.run_id,
    attempts.job_id,
    attempts.attempt_number,
    attempts.state,
    attempts.started_at,
    attempts.ended_at,
    attempts.gpu_count,
    attempts.gpu_hours,
    attempts.source_path,
    attempts.source_line_number
from marts.fct_attempts as attempts
inner join failed using (cluster_id, run_id)
qualify row_number() over (
    partition by attempts.cluster_id, attempts.run_id order by attempts.started_at, attempts.attempt_id
) <= 12
order by attempts.cluster_id, attempts.run_id, attempts.started_at, attempts.attempt_id
