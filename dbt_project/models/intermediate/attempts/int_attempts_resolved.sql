with

records as (

    select * from {{ ref('int_records_measured') }}

),

numbering as (

    select * from {{ ref('int_attempts_numbered') }}

)

select
    records.*,
    coalesce(
        numbering.attempt_id, {{ attempt_id('records.cluster_id', 'records.job_id_raw', 'records.submitted_at') }}
    ) as attempt_id,
    coalesce(
        numbering.job_key, {{ attempt_id('records.cluster_id', 'records.job_id_raw', 'records.submitted_at') }}
    ) as job_key,
    numbering.previous_attempt_id,
    coalesce(numbering.attempt_number, 1) as attempt_number,
    coalesce(numbering.is_last_of_job, true) as is_last_of_job,
    coalesce(numbering.is_continuation, false) as is_continuation
from records
left join numbering
    on
        records.source_path = numbering.source_path
        and records.source_line_number = numbering.source_line_number
