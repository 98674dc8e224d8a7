with

records as (

    select
        cluster_id,
        job_id_raw,
        source_path,
        source_line_number,
        submitted_at,
        started_at,
        ended_at,
        db_index,
        -- The number of a user without a name may belong to a deleted name.
        case when user_name not like 'uid:%' then user_name end as known_user_name,
        job_name,
        state
    from {{ ref('stg_sacct__records') }}

),

repeated_job_ids as (

    select
        cluster_id,
        job_id_raw
    from records
    group by cluster_id, job_id_raw
    having count(*) > 1

),

-- Most jobs have one record. Sorting only the others saves most of the time for millions of records.
repeated_records as (

    select
        records.cluster_id,
        records.job_id_raw,
        records.source_path,
        records.source_line_number,
        records.submitted_at,
        records.started_at,
        records.db_index,
        records.known_user_name,
        records.job_name,
        records.state,
        coalesce(records.ended_at, records.started_at, records.submitted_at) as last_seen_at
    from records
    inner join repeated_job_ids
        on
            records.cluster_id = repeated_job_ids.cluster_id
            and records.job_id_raw = repeated_job_ids.job_id_raw

),

followed_records as (

    select
        *,
        row_number() over (
            partition by cluster_id, job_id_raw, submitted_at
            order by db_index nulls last, started_at nulls last, source_path, source_line_number
        ) as same_submit_number,
        row_number() over job_id_records as record_number,
        lag(last_seen_at) over job_id_records as previous_seen_at,
        coalesce(known_user_name != lag(known_user_name) over job_id_records, false) as is_of_another_user,
        coalesce(job_name != lag(job_name) over job_id_records, false) as has_another_name,
        coalesce(
            lag(state) over job_id_records
            in ('COMPLETED', 'FAILED', 'CANCELLED', 'TIMEOUT', 'OUT_OF_MEMORY', 'DEADLINE'),
            false
        ) as follows_own_end
    from repeated_records
    window job_id_records as (
        partition by cluster_id, job_id_raw
        order by submitted_at, started_at nulls last, db_index nulls last, source_path, source_line_number
    )

),

-- A requeue is submitted when the previous attempt ends, by the same user and under the same name. It rarely follows an
-- end by the job itself, because the controller soon forgets such a job. Records between may be missing, and jobs are
-- renamed, so one sign is not enough. Ids wrap, and restart when the controller loses its state.
ordered_records as (

    select
        *,
        previous_seen_at is null
        or submitted_at > previous_seen_at + interval 30 day
        or is_of_another_user
        or (has_another_name and follows_own_end)
        or (
            submitted_at > previous_seen_at + interval 1 day
            and (has_another_name or follows_own_end)
        ) as is_first_of_job
    from followed_records

),

identified_records as (

    select
        *,
        {{ attempt_id('cluster_id', 'job_id_raw', 'submitted_at') }}
        || case when same_submit_number > 1 then ':' || same_submit_number else '' end as attempt_id,
        sum(case when is_first_of_job then 1 else 0 end) over (
            partition by cluster_id, job_id_raw
            order by record_number
            rows between unbounded preceding and current row
        ) as job_sequence
    from ordered_records

)

select
    cluster_id,
    job_id_raw,
    source_path,
    source_line_number,
    attempt_id,
    row_number() over job_attempts as attempt_number,
    first_value(attempt_id) over job_attempts as job_key,
    lag(attempt_id) over job_attempts as previous_attempt_id,
    coalesce(lag(state) over job_attempts = 'RESIZING', false) as is_continuation,
    lead(attempt_id) over job_attempts is null as is_last_of_job
from identified_records
window job_attempts as (
    partition by cluster_id, job_id_raw, job_sequence
    order by record_number
)
