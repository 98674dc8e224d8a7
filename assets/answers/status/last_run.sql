-- The last run.
select run_id, started_at, ended_at, status, message from ops.runs order by rowid desc limit 1
