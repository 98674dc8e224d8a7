create or replace temp table job_numbers as
with jobs as (
    select
        job_id_raw as number,
        min(if(array_task_id is null, submitted_at, coalesce(started_at, submitted_at))) as given_at
    from raw.sacct
    where cluster_id = {{ cluster_id }} and disposition = 'loaded' and job_id_raw <= {{ largest }}
    group by number
),
followed as (
    select
        given_at,
        lead(given_at) over by_number as next_at,
        lead(number) over by_number - number - 1 as unused
    from jobs
    window by_number as (order by number)
)
select least(given_at, next_at) as from_at, greatest(given_at, next_at) as to_at, unused
from followed where next_at is not null
