{% import "sources/health/macros.sql" as health %}
{% call health.insert_records(false, start_has_offset, end_has_offset, xid_codes) %}
select lines.file_id, lines.line_number, unnest(from_json(line, {{ ("[" ~ health.structure ~ "]") | literal }})) as r
from lines {{ health.in_gcm_files }}
where case when line[1] = '[' then json_valid(line) else false end
{% endcall %};

-- An empty array has nothing to load.
insert into health_results by name
select lines.file_id, lines.line_number, 'no_records' as skip_reason
from lines {{ health.in_gcm_files }}
where line[1] = '[' and json_valid(line) and json_array_length(line) = 0;

-- Result lines of nagios-type checks, GCM's own log, and the tails of messages with line breaks. A line that looks like
-- a piece of a record is a broken record.
insert into health_results by name
select
    lines.file_id,
    lines.line_number,
    case when not broken then 'text_line' end as skip_reason,
    case when broken then 'bad_json' end as problem,
    case when broken then 'not a complete JSON object or array' end as problem_detail
from (
    select
        lines.file_id,
        lines.line_number,
        (line[1] in ('{', '[') and not regexp_matches(line, '^\[\d{4}-\d\d-\d\d '))
        or regexp_matches(line, '"(health_check|_msg|end_time|derived_cluster)"') as broken
    from lines {{ health.in_gcm_files }}
    where line is not null and not coalesce(line[1] in ('{', '[') and json_valid(line), false)
) as lines
