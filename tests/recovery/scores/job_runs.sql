-- Which attempt goes on where another stopped.
with

planted as (

    select
        attempt_id,
        lag(attempt_id) over (partition by run_number order by submitted_epoch, job_id_raw) as previous_attempt_id
    from truth.attempts

)

select
    'links from attempt to attempt of a run' as item,
    count(found.attempts.previous_attempt_id) as published,
    count(planted.previous_attempt_id) as planted,
    count(*) filter (found.attempts.previous_attempt_id = planted.previous_attempt_id) as recovered
from planted
full join found.attempts using (attempt_id)
