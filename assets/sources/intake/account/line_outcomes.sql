create or replace temp view line_outcomes as
from loaded_lines
union all
select file_id, line_number from skipped_lines
union all
select file_id, line_number from quarantined_lines
