-- Lines without a year get one from all lines of their file, lines of an hour that comes twice from their order.
select
    file_id,
    last_line as line_number,
    0 as lines_again,
    {{ not_before }} as not_before,
    [] as left_out
from file_lines
left join (select file_id, max(stated_at) as stated_at from stated_times group by file_id) as reached
    using (file_id)
where file_id not in (select file_id from slurmctld_years)
    and file_id not in (select file_id from slurmctld_turns where turn_line is null)
