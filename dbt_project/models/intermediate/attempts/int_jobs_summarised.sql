{% set name = ['cluster_id', 'user_name', 'job_name', 'array_task_id', 'het_offset'] %}

with

attempts as (

    select * from {{ ref('int_attempts') }}

),

-- Most jobs have a unique name. They continue no job, and no job continues them.
repeated_names as (

    select {{ hash_columns(name) }} as name_key
    from {{ ref('stg_sacct__records') }}
    group by {{ hash_columns(name) }}
    having count(*) > 1

),

counted_attempts as (

    select
        *,
        case
            when started_at is not null then coalesce(gpu_count, requested_gpu_count)
            else requested_gpu_count
        end as wanted_gpu_count,
        coalesce(pending_reason = 'Dependency', false) as is_dependent
    from attempts
    where
        attempt_number > 1
        or not is_last_of_job
        or {{ hash_columns(name) }} in (select name_key from repeated_names)

)

-- Most jobs have one attempt and need no aggregation. Any of the others may have been renamed.
select
    cluster_id,
    job_key,
    user_name,
    job_name,
    array_task_id,
    het_offset,
    wanted_gpu_count as gpu_count,
    1 as attempt_count,
    attempt_id as last_attempt_id,
    submitted_at,
    eligible_at,
    is_dependent,
    started_at,
    ended_at
from counted_attempts
where
    attempt_number = 1
    and is_last_of_job

union all

select
    cluster_id,
    job_key,
    {{ first_by('user_name', 'attempt_number') }} as user_name,
    {{ first_by('job_name', 'attempt_number') }} as job_name,
    {{ first_by('array_task_id', 'attempt_number') }} as array_task_id,
    {{ first_by('het_offset', 'attempt_number') }} as het_offset,
    {{ first_by('wanted_gpu_count', 'attempt_number') }} as gpu_count,
    count(*) as attempt_count,
    {{ last_by('attempt_id', 'attempt_number') }} as last_attempt_id,
    min(submitted_at) as submitted_at,
    {{ first_by('eligible_at', 'attempt_number') }} as eligible_at,
    {{ first_by('is_dependent', 'attempt_number') }} as is_dependent,
    min(started_at) as started_at,
    case when bool_and(has_ended) then max(ended_at) end as ended_at
from counted_attempts
where
    attempt_number > 1
    or not is_last_of_job
group by cluster_id, job_key
