-- The texts come first: the other side of a join is held in memory (`joins_as_written`).
insert into ops.quarantine by name
select
    batch_files.cluster_id, batch_files.path, found.line_number,
    found.reason, {{ detail }} as detail, {{ text }} as raw
from (
    from lines
    union all
    select file_id, line_number, line from aside_lines
) as lines
inner join all_quarantined as found on found.file_id = lines.file_id and found.line_number = lines.line_number
inner join batch_files on batch_files.file_id = found.file_id
