create or replace temp view line_outcomes as
from loaded_lines
union all
select file_id, line_number from skipped_lines
union all
select file_id, line_number from quarantined_lines;

-- The lines that are to have an outcome, and those that have one, of files whose lines are all named.
create or replace temp view named_lines as
select file_id, line_number from lines anti join counted_skips using (file_id)
union all
from (
    select file_id, unnest(range(1, line_count + 1)) as line_number
    from taken_files anti join counted_skips using (file_id)
) anti join odd_lines using (file_id, line_number);

create or replace temp view named_outcomes as from line_outcomes anti join counted_skips using (file_id)
