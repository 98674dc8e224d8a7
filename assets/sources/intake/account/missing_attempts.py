"""Find attempts that are missing in an export: without --duplicates, `sacct` shows only the last of each job.

A requeue sets Submit anew, so a record that a requeue made is told by its count of restarts, or by a line of the
controller's log beside its Submit. Where that lies within the export, the attempt before it must be there as well.
"""

from __future__ import annotations

import duckdb

WARNING = "exported_without_duplicates"
"""Beside the files in which more attempts are missing than shown, in `ops.files.warnings`."""

KINDS_WITH_ATTEMPTS = frozenset({"sacct", "slurmctld_events"})
"""Raw tables that the warning is made of."""

SECONDS_TO_REQUEUE = 120
"""Between a line of the log and the Submit that it sets."""

# Whatever an export shows had not ended when its window began, so the first end in a file lies within its window.
_FILES = f"""
    create or replace temp table files_without_duplicates as
    with records as (
        -- The versions of a file together are what its exports showed.
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
                and abs(epoch(records.submitted_at) - epoch(requeues.logged_at)) <= {SECONDS_TO_REQUEUE}
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
    select restarts.cluster_id, restarts.path
    from restarts
    inner join windows using (cluster_id, path)
    inner join jobs using (cluster_id, job_id_raw)
    where restarts.submitted_at > windows.first_end
    group by restarts.cluster_id, restarts.path
    having count(*) filter (jobs.first_submit = restarts.submitted_at)
        > count(*) filter (jobs.first_submit < restarts.submitted_at)
"""
_WARN = f"""
    update ops.files
    set warnings = case
        when is_warned then list_sort(list_append(warnings, '{WARNING}'))
        else list_filter(warnings, lambda warning: warning <> '{WARNING}')
    end
    from (
        select cluster_id, path, (cluster_id, path) in (from files_without_duplicates) as is_warned
        from ops.files
        where kind = 'sacct'
    ) as warned
    where warned.cluster_id = files.cluster_id and warned.path = files.path
        and warned.is_warned <> list_contains(files.warnings, '{WARNING}')
"""


def warn_of_missing_attempts(con: duckdb.DuckDBPyConnection) -> None:
    """Set or remove the warning of every accounting file, by all records and lines."""
    con.execute(_FILES)
    con.execute(_WARN)
