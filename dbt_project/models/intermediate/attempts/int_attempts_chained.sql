with

chained_jobs as (

    select * from {{ ref('int_jobs_chained') }}

),

het_jobs as (

    select * from {{ ref('int_het_jobs_sized') }}

),

attempts as (

    select * from {{ ref('int_attempts') }}

)

select
    attempts.*,
    coalesce(chained_jobs.run_id, attempts.job_key) as run_id,
    attempts.attempt_number + coalesce(chained_jobs.earlier_attempt_count, 0) as run_attempt_number,
    attempts.is_last_of_job and coalesce(chained_jobs.is_last_of_run, true) as is_last_of_run,
    coalesce(attempts.previous_attempt_id, chained_jobs.previous_attempt_id) as previous_attempt_id_of_run,
    {{ job_gpu_count('attempts', 'het_jobs') }} as job_gpu_count
from attempts
left join chained_jobs
    on
        attempts.cluster_id = chained_jobs.cluster_id
        and attempts.job_key = chained_jobs.job_key
left join het_jobs
    on
        attempts.cluster_id = het_jobs.cluster_id
        and attempts.attempt_id = het_jobs.attempt_id
