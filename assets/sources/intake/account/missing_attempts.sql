{% import "sources/intake/account/macros.sql" as m %}
-- No record of an export ended before its window began, so the first end in a file lies within the window.
create or replace temp table new_warnings as
with records as (
    -- The exports of a file showed all its versions together.
    select
        sacct.cluster_id, coalesce(files.version_of, sacct.path) as path,
        job_id_raw, submitted_at, ended_at, restart_count
    from raw.sacct
    inner join ops.files on files.cluster_id = sacct.cluster_id and files.path = sacct.path
    where disposition = 'loaded'
),
requeues as (
    select distinct cluster_id, job_id_raw, logged_at
    from raw.slurmctld_events
    where disposition = 'loaded'
        and (
            kind = 'job_requeued'
            or kind = 'job_node_failure' and contains(message, 'requeue job ')
            or preempt_mode = 'requeued'
        )
),
restarts as (
    select cluster_id, path, job_id_raw, submitted_at from records where restart_count > 0
    union
    select records.cluster_id, records.path, records.job_id_raw, records.submitted_at
    from records
    inner join requeues
        on records.cluster_id = requeues.cluster_id
            and records.job_id_raw = requeues.job_id_raw
            and abs(epoch(records.submitted_at) - epoch(requeues.logged_at)) <= {{ seconds_to_requeue }}
),
windows as (
    select cluster_id, path, min(ended_at) as first_end
    from records semi join restarts using (cluster_id, path)
    group by cluster_id, path
),
jobs as (
    select cluster_id, job_id_raw, min(submitted_at) as first_submit
    from records semi join restarts using (cluster_id, job_id_raw)
    group by cluster_id, job_id_raw
)
select restarts.cluster_id, restarts.path, {{ name | literal }} as warning
from restarts
inner join windows using (cluster_id, path)
inner join jobs using (cluster_id, job_id_raw)
where restarts.submitted_at > windows.first_end
group by restarts.cluster_id, restarts.path
having count(*) filter (jobs.first_submit = restarts.submitted_at)
    > count(*) filter (jobs.first_submit < restarts.submitted_at);
{{ m.replace_warnings(name) }}
