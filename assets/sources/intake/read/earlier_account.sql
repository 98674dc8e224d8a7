{# Add to the account of the only file of a batch what is known of the lines that were read earlier. #}
delete from skipped_lines using earlier_lines as earlier
where earlier.file_id = skipped_lines.file_id and earlier.line_number = skipped_lines.line_number;

update file_lines set lines_in = lines_in + batch_files.lines_before from batch_files;

insert into earlier_skips
select file_id, skip.key, skip.value
from (select unnest(map_entries(skips)) as skip from read_earlier) cross join batch_files;

insert into file_warnings
select batch_files.file_id, warning
from (select unnest(warnings) as warning from read_earlier) cross join batch_files
{% for warning in found_anew %}
{{ "where" if loop.first else "and" }} warning <> {{ warning | literal }}
{% endfor %}
