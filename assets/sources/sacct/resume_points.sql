{# A file is read on behind its last record on a line of its own, as odd lines may be joined with those that follow.
These files are read whole:
- with a running job without an elapsed time: the modification of the file decides whether it is taken for lost;
- with rows of several clusters, or of which some name none: only all rows tell which are read;
- with times in the form of a locale: only all times tell the order of day and month. -#}
with headers as (
    select file_id, max(line_number) as lines_again
    from (
        select file_id, line_number from sacct_headers
        union all
        select file_id, line_number from sacct_aside_in_files where reason = 'header'
    )
    group by file_id having count(*) = 1 and max(line_number) <= 1
),
timed as (
    select batch_files.file_id
    from raw.sacct inner join batch_files
        on batch_files.path = sacct.path and batch_files.cluster_id = sacct.cluster_id
    where sacct.state = 'RUNNING' and sacct.elapsed_seconds is null
),
several as (
    select file_id from (select unnest(clusters, recursive := true) from sacct_values)
    group by file_id having count(distinct coalesce(lower(name), '')) > 1
    union all
    select file_id from sacct_aside where reason = 'other_cluster'
)
select
    kept.file_id,
    max(kept.line_number) as line_number,
    any_value(headers.lines_again) as lines_again,
    null as not_before,
    [] as left_out
from loaded_lines as kept
inner join headers on headers.file_id = kept.file_id
anti join sacct_odd_places as odd on odd.file_id = kept.file_id and odd.line_number = kept.line_number
anti join timed on timed.file_id = kept.file_id
anti join several on several.file_id = kept.file_id
anti join sacct_dates as dated on dated.file_id = kept.file_id
group by kept.file_id
