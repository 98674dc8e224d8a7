create or replace temp view skipped_aside as
select file_id, line_number, reason
from aside_lines semi join translated_aside as translated using (file_id, line_number, reason)
where aside_lines.detail is null;

create or replace temp table all_quarantined as
select
    found.file_id, found.line_number, found.detail,
    case
        when batch_files.last_line_open and found.line_number = file_lines.last_line then 'truncated_record'
        else found.reason
    end as reason
from (
    select file_id, line_number, reason, detail from quarantined_lines
    union all
    select file_id, line_number, reason, detail
    from aside_lines anti join skipped_aside using (file_id, line_number)
) as found
inner join batch_files on batch_files.file_id = found.file_id
inner join file_lines on file_lines.file_id = found.file_id;

create or replace temp table skip_counts as
select file_id, reason, sum(line_count)::bigint as line_count
from (
    select file_id, reason, count(*) as line_count from skipped_lines group by all
    union all
    select file_id, reason, count(*) as line_count from skipped_aside group by all
)
group by all;

insert into ops.skips by name
select batch_files.cluster_id, batch_files.path, skip_counts.reason, skip_counts.line_count
from skip_counts inner join batch_files on batch_files.file_id = skip_counts.file_id
