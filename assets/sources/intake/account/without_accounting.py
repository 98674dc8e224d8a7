"""Warn of logs that can explain no failure, because accounting tells of no job of their time.

Either the accounting of that time is not there, or the log is of another year or cluster than it seems.
"""

from __future__ import annotations

import duckdb

WARNING = "overlaps_no_accounting"
"""Beside such files, in `ops.files.warnings`; after a colon the first and the last day of the log."""

EVIDENCE = ("events", "health", "kernel", "slurmctld")
"""Kinds of logs that explain failures."""

DAYS_APART = 30
"""A log beside others that overlap accounting may lie so far from it: accounting of a few days may be late."""

_IS_OURS = f"split_part(warning, ':', 1) = '{WARNING}'"
_WARN = f"""
    update ops.files
    set warnings = list_sort(
        list_filter(files.warnings, lambda warning: not {_IS_OURS}) || if(told.warning is null, [], [told.warning])
    )
    from (
        with accounting as (
            select cluster_id, least(min(files.first_at), min(jobs.started_at)) as first_at, max(last_at) as last_at
            from ops.files
            left join (select cluster_id, min(started_at) as started_at from raw.sacct group by cluster_id) as jobs
                using (cluster_id)
            where kind = 'sacct' group by cluster_id
        ),
        logs as (
            select
                files.cluster_id, files.path, files.first_at, files.last_at,
                bool_or(files.first_at <= accounting.last_at and files.last_at >= accounting.first_at)
                    over (partition by files.cluster_id, files.kind) as is_any_beside,
                greatest(
                    epoch(files.first_at - accounting.last_at), epoch(accounting.first_at - files.last_at)
                ) / 86400 as days_apart
            from ops.files
            inner join accounting using (cluster_id)
            where files.kind in {EVIDENCE}
        )
        select
            cluster_id, path,
            if(
                days_apart > if(is_any_beside, {DAYS_APART}, 0),
                concat('{WARNING}: ', first_at::date, ' to ', last_at::date), null
            ) as warning
        from logs
    ) as told
    where told.cluster_id = files.cluster_id and told.path = files.path
        and (told.warning is not null or list_filter(files.warnings, lambda warning: {_IS_OURS}) <> [])
"""


def warn_of_logs_without_accounting(con: duckdb.DuckDBPyConnection) -> None:
    """Set, change or remove the warning of every log of evidence, by its times and those of accounting."""
    con.execute(_WARN)
