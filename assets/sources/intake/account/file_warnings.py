"""Warnings in `ops.files.warnings` that depend on all files, so that any other file may set or remove them.

* Without --duplicates, `sacct` shows only the last attempt of each job. A requeue sets Submit again. The record of a
  requeued attempt has a count of restarts, or the controller's log has a line near its Submit. If that is within the
  export, the export must also have the attempt before it.
* Submit lines may exclude nodes that nothing names as nodes of the cluster. Excluding a drained node is normal, and a
  node that was drained all the time ran no job. The record of such a job counts, so its line is not quarantined.
* Logs explain no failure if accounting has no job of their time. Either that accounting is missing, or the log is
  of another year or cluster than it seems.
"""

from __future__ import annotations

import duckdb

from assets.sql import fill

EXPORTED_WITHOUT_DUPLICATES = "exported_without_duplicates"
"""Warning on files in which more attempts are missing than present."""
UNKNOWN_EXCLUDED_NODES = "unknown_excluded_nodes"
"""A colon, the number of nodes and their names follow."""
OVERLAPS_NO_ACCOUNTING = "overlaps_no_accounting"
"""A colon, the first and the last day of the log follow."""

SECONDS_TO_REQUEUE = 120
"""Longest time between a line of the controller's log and the Submit that it sets."""
MAX_NAMES = 5
"""How many names a warning holds: submit lines may exclude thousands of nodes."""
DAYS_APART = 30
"""If other logs overlap accounting, a log may lie this many days from it: accounting of a few days may be late."""


def warn_of_files(con: duckdb.DuckDBPyConnection) -> None:
    """Update the warnings; the transaction is the caller's."""
    con.execute(
        fill(
            "sources/intake/account/missing_attempts.sql",
            name=EXPORTED_WITHOUT_DUPLICATES,
            seconds_to_requeue=SECONDS_TO_REQUEUE,
        )
    )
    con.execute(fill("sources/intake/account/unknown_exclusions.sql", name=UNKNOWN_EXCLUDED_NODES, max_names=MAX_NAMES))
    con.execute(
        fill("sources/intake/account/without_accounting.sql", name=OVERLAPS_NO_ACCOUNTING, days_apart=DAYS_APART)
    )
