{# Whether a record of a file that was read as a whole is not in raw. -#}
select coalesce(sum(line_count), 0)
    > (select count(*) from odd_lines) + (select count(*) from sacct_aside_in_files)
    + (
        select count(*) from loaded_lines
        semi join taken_files using (file_id) anti join odd_lines using (file_id, line_number)
    )
from taken_files
