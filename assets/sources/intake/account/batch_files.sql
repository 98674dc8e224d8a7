insert into ops.files by name
select
    files.cluster_id, files.path, files.sha256, {{ kind | literal }} as kind, files.dialect,
    coalesce(lines_in, 0) as lines_in, coalesce(loaded, 0) as loaded, coalesce(skipped, 0) as skipped,
    coalesce(quarantined, 0) as quarantined, {{ run_id }} as run_id, size_bytes, text_sha256, text_bytes,
    if(last_line_open, last_line, null) as open_line, modified_at,
    coalesce(is_partial, false) or has_lost_end as is_partial, {{ reader }} as reader,
    coalesce(warnings, []::varchar[]) as warnings, first_at, last_at,
    if(has_lost_end, {{ cut_off | literal }}, {{ read | literal }}) as status,
    case when is_cut then {{ lost_end | literal }} when has_lost_end then {{ open_end | literal }} end as reason,
    if(has_lost_end, {{ next_step | literal }}, null) as next_step
from (
    select *, is_cut{% if kind == "sacct" %} or (last_line_open and dialect not in ({{ logs }})){% endif %} as has_lost_end
    from batch_files
) as files
left join file_lines using (file_id)
left join (select file_id, count(*) as loaded from loaded_lines group by file_id) as loaded using (file_id)
left join (select file_id, sum(line_count) as skipped from skip_counts group by file_id) as skipped using (file_id)
left join (
    select file_id, count(*) as quarantined, bool_or(reason = 'truncated_record') as is_partial
    from all_quarantined group by file_id
) as quarantined using (file_id)
left join (
    select file_id, list(distinct warning order by warning) as warnings from file_warnings group by file_id
) as warned using (file_id)
left join covered_times using (file_id)
