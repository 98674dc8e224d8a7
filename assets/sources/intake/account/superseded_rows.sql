{% import "sources/intake/find/macros.sql" as versions %}
delete from raw.{{ table }} where rowid in (select row_key from superseded_rows);
{% set skipped %}
select cluster_id, path, count(*) as line_count
from superseded_lines anti join raw.{{ table }} using (cluster_id, path, line_number)
group by all
{% endset %}
{{ versions.skip_superseded(skipped) }}
