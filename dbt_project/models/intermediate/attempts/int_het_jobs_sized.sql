with

components as (

    select
        cluster_id,
        attempt_id,
        het_job_id,
        attempt_number,
        submitted_at,
        gpu_count
    from {{ ref('int_attempts') }}
    where het_job_id is not null

),

-- The components of a job are submitted together. The same number hours later is another job: ids wrap, and restart
-- when the controller loses its state.
ordered_components as (

    select
        *,
        case
            when submitted_at <= lag(submitted_at) over job_components + interval 1 hour then 0
            else 1
        end as starts_job
    from components
    window job_components as (
        partition by cluster_id, het_job_id, attempt_number
        order by submitted_at, attempt_id
    )

),

identified_components as (

    select
        *,
        sum(starts_job) over (
            partition by cluster_id, het_job_id, attempt_number
            order by submitted_at, attempt_id
            rows between unbounded preceding and current row
        ) as job_sequence
    from ordered_components

),

totals as (

    select
        cluster_id,
        het_job_id,
        attempt_number,
        job_sequence,
        -- One unknown component makes the size unknown.
        case when count(*) = count(gpu_count) then sum(gpu_count) end as gpu_count
    from identified_components
    group by cluster_id, het_job_id, attempt_number, job_sequence

)

select
    components.cluster_id,
    components.attempt_id,
    cast(totals.gpu_count as integer) as job_gpu_count
from identified_components as components
inner join totals
    on
        components.cluster_id = totals.cluster_id
        and components.het_job_id = totals.het_job_id
        and components.attempt_number = totals.attempt_number
        and components.job_sequence = totals.job_sequence
