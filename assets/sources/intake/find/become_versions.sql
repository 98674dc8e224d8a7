{% import "sources/intake/find/macros.sql" as m %}
{# Move what was read of `renamed_files` to older versions, without a last line that had no end. #}
create or replace temp table open_lines as
select cluster_id, path, open_line as line_number
from ops.files semi join renamed_files using (cluster_id, path)
where exists (
    from (
        select cluster_id, path, line_number from raw.{{ table }}
        union all
        select cluster_id, path, line_number from ops.quarantine
    ) as kept
    where kept.cluster_id = files.cluster_id and kept.path = files.path and kept.line_number = files.open_line
);
{% for name in ("raw." ~ table, "ops.quarantine") %}
delete from {{ name }} using open_lines
where open_lines.cluster_id = {{ name }}.cluster_id and open_lines.path = {{ name }}.path
    and open_lines.line_number = {{ name }}.line_number;
{% endfor %}
{{ m.skip_superseded("select cluster_id, path, 1 as line_count from open_lines") }}
update ops.files set is_present = false, version_of = files.path, run_id = {{ run_id | literal }}
where (cluster_id, path) in (select (cluster_id, path) from renamed_files);
{% for name in ("raw." ~ table,) + per_file_tables %}
update {{ name }} as moved set path = renamed.version
from renamed_files as renamed where renamed.cluster_id = moved.cluster_id and renamed.path = moved.path;
{% endfor %}
