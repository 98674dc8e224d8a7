select
    lines.file_id,
    lines.line_number,
    case
        when lines.line is null then 'blank'
        when regexp_matches(lines.line, {{ header | literal }}) then 'header'
        when batch_files.dialect = 'squeue_without_exclusions' then 'no_excluded_nodes_column'
        when batch_files.dialect = 'gcm_jobs' and contains(lines.line, '"NODE_NAME"') then 'node_record'
        else 'no_excluded_nodes'
    end as reason
from lines
join batch_files on batch_files.file_id = lines.file_id
anti join loaded_lines
    on loaded_lines.file_id = lines.file_id and loaded_lines.line_number = lines.line_number
anti join quarantined_lines as bad
    on bad.file_id = lines.file_id and bad.line_number = lines.line_number
