with

health_checks as (

    select * from {{ source_table('raw', 'health_checks') }}
    where disposition = 'loaded'

)

select
    cluster_id,
    path as source_path,
    line_number as source_line_number,
    node_id,
    check_name,
    lower(trim(check_name)) as check_key,
    check_type,
    result,
    result_quality,
    started_at,
    observed_at,
    job_id_raw,
    xid_codes,
    message,
    unchanged_since,
    -- An event is no state. It neither ends nor restarts a failure of a check of the same name.
    coalesce(
        {{ health_check_subject('lower(trim(check_name))', 'message') }},
        case when check_type = 'event' then {{ subject_of_events() }} end
    ) as subject
from health_checks
