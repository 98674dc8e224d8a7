select
    squeue_rows.file_id,
    squeue_rows.line_number,
    squeue_rows.job_id_raw,
    unnest(lists.node_names) as node_name,
    coalesce(squeue_rows.collected_at, {{ file_moment }}) as seen_at
from squeue_rows
join squeue_node_lists as lists on lists.node_list = squeue_rows.node_list
join batch_files on batch_files.file_id = squeue_rows.file_id
anti join squeue_bad_lines as bad
    on bad.file_id = squeue_rows.file_id and bad.line_number = squeue_rows.line_number
