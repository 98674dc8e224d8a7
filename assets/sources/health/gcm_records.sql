{% import "sources/health/macros.sql" as health %}
{% call health.insert_records(true, start_has_offset, end_has_offset, xid_codes) %}
select lines.file_id, lines.line_number, json_transform(line, {{ health.structure | literal }}) as r
from lines {{ health.in_gcm_files }}
where case when line[1] = '{' then json_valid(line) else false end
{% endcall %}
