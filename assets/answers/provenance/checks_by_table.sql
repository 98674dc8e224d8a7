-- Checks of the newest run. One row per table.
select
    table_name,
    count(*) filter (where passed) as passed_count,
    count(*) filter (where not passed) as failed_count,
    count(*) filter (where is_blocking) as blocking_count
from ops.checks
where run_id = (select run_id from ops.runs order by rowid desc limit 1)
group by table_name
order by table_name
