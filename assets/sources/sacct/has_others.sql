{# Whether files that were read as a whole have lines that are neither in raw nor set aside. -#}
select coalesce(sum(line_count), 0)
    > (select count(*) from odd_lines) + (select count(*) from sacct_aside_in_files)
    + (
        select count(*) from loaded_lines
        semi join taken_files using (file_id) anti join odd_lines using (file_id, line_number)
    )
from taken_files
