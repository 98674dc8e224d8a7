-- The run that is making the report.
select run_id, started_at, ended_at, status, code_version, message
from ops.runs
qualify row_number() over (order by rowid desc) = 1
