{% import "sources/health/macros.sql" as health %}
-- Unchanged results of a day are found together, so a file is read on from the first result of its last day. Results of
-- the days before that come behind it stay as they were read. Unsorted files are read whole.
with results as (from health_results where skip_reason is null and problem is null),
days as (
    select
        file_id,
        observed_at::date as day_date,
        min(line_number) as first_line,
        max(line_number) as last_line,
        max(observed_at) as last_at
    from results
    group by file_id, day_date
),
last_days as (
    select
        file_id,
        any_value(last_day) as last_day,
        min(first_line) filter (day_date >= last_day) as line_number,
        max(last_line) filter (day_date < last_day) as line_before
    from (select *, {{ health.last_day("max(last_at) over (partition by file_id)") }} as last_day from days)
    group by file_id having coalesce(line_before - line_number, 0) < {{ max_lines_behind }}
),
behind as (
    select results.file_id, list(distinct results.line_number) as left_out
    from results
    inner join last_days on last_days.file_id = results.file_id and results.line_number > last_days.line_number
    where results.observed_at::date < last_days.last_day
    group by results.file_id
),
found as (
    select last_days.file_id, last_days.line_number, last_days.last_day, behind.left_out
    from last_days left join behind on behind.file_id = last_days.file_id
    union all
    select
        file_id,
        last_day_line as line_number,
        last_day,
        list(line_number) filter (line_number > last_day_line and observed_at::date < last_day) as left_out
    from health_whole where last_day_line is not null and not is_odd
    group by file_id, last_day, last_day_line
)
select
    found.file_id,
    found.line_number,
    0 as lines_again,
    found.last_day::timestamp as not_before,
    coalesce(found.left_out, []) as left_out
from found
inner join batch_files on batch_files.file_id = found.file_id and batch_files.dialect = 'gcm'
