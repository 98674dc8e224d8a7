-- What the checks of the latest run said, failures first. One row per check.
with latest_run as (
    select run_id
    from ops.runs
    qualify row_number() over (order by rowid desc) = 1
)

select checks.table_name, checks.check_name, checks.passed, checks.is_blocking, checks.observed, checks.expected
from ops.checks as checks
inner join latest_run using (run_id)
order by checks.passed, checks.table_name, checks.check_name
