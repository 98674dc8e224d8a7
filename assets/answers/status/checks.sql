-- Checks of the last run.
select
    count(*) filter (passed) as passed,
    count(*) filter (not passed and is_blocking) as failed,
    count(*) filter (not passed and not is_blocking) as warned
from ops.checks
where run_id = (select run_id from ops.runs order by rowid desc limit 1)
