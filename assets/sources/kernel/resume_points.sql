-- Lines without a year get one from all lines of their file, and lines without a date from the others of their boot.
-- The order of all tells which pass of an hour that comes twice is meant. A fault of three lines is read as a whole.
with unfinished as (
    select file_id, min(line_number) as line_number
    from (
        select * from kernel_classified
        where is_relevant
        qualify row_number() over (partition by file_id, host order by line_number desc) <= 3
    )
    where is_first_of_three or is_tail
    group by file_id
),
reached as (select file_id, max(stated_at) as stated_at from stated_times group by file_id)
select
    file_lines.file_id,
    least(file_lines.last_line, unfinished.line_number) as line_number,
    0 as lines_again,
    {{ not_before }} as not_before,
    [] as left_out
from file_lines
left join unfinished on unfinished.file_id = file_lines.file_id
left join reached on reached.file_id = file_lines.file_id
where file_lines.file_id not in (select file_id from kernel_years)
    and file_lines.file_id not in (select file_id from kernel_turns where turn_line is null)
    and file_lines.file_id not in (
        select file_id from kernel_classified where occurred_at is null and uptime_seconds is not null
    )
