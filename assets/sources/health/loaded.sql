{% import "sources/health/macros.sql" as health %}
select
    results.file_id, line_number, results.node_name, results.check_name, check_type, result, result_quality,
    started_at, observed_at, job_id_raw, xid_codes, message,
    case when observed_at = days.last_at then days.first_at end as unchanged_since, dated_by_file_at
from health_results as results
left join health_unchanged_days as days on days.file_id = results.file_id and {{ health.is_of_day }}
anti join health_unchanged as unchanged
    on unchanged.file_id = results.file_id and unchanged.line_number = results.line_number
anti join health_bad_lines as bad on bad.file_id = results.file_id and bad.line_number = results.line_number
where skip_reason is null
