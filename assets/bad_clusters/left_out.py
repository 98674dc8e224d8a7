"""Clusters that a run leaves out, with reasons, in `ops.cluster_failures`.

Raw, dbt, the estimates and the checks add to the list. Dbt's macro `source_table` and the estimates skip the rows of
these clusters; the checks and the step that restores last good rows read the list too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import duckdb

PRIVACY = "privacy"
"""The stage of clusters with a changed setting for names."""
CHANGED_PRIVACY = f"""
    select cluster_id from ops.cluster_failures
    where stage = '{PRIVACY}' and run_id = (select run_id from ops.runs order by rowid desc limit 1)
"""
"""Clusters of the last run that publish nothing, neither numbers nor texts."""
TRIAL = "trial"
"""The stage of the clusters that a trial of a failed step leaves out, until it ends."""
LEFT_OUT = """
    select cluster_id from ops.cluster_failures
    where run_id = (select run_id from ops.runs where status = 'running' order by rowid desc limit 1)
"""
"""The clusters that the running run leaves out."""
_CLUSTERS_TO_TRY = f"""
    select cluster_id, cluster_id in (
        select cluster_id from ops.cluster_failures
        where stage = ? and run_id = (select run_id from ops.published order by rowid desc limit 1)
    )
    from raw.clusters where cluster_id not in ({LEFT_OUT}) order by cluster_id
"""


def record_failures(
    con: duckdb.DuckDBPyConnection, run_id: str, stage: str, failures: Mapping[str, Iterable[str]]
) -> None:
    """Add reasons by cluster, and remove those of earlier trials, including killed ones."""
    con.execute("delete from ops.cluster_failures where stage = ?", [TRIAL])
    now = datetime.now(UTC).replace(tzinfo=None)
    for cluster_id, reasons in sorted(failures.items()):
        for reason in dict.fromkeys(reasons):
            con.execute(
                "insert into ops.cluster_failures values (?, ?, ?, ?, ?)", [run_id, cluster_id, stage, reason, now]
            )


def failing_clusters(con: duckdb.DuckDBPyConnection, run_id: str) -> dict[str, list[str]]:
    """Return the reasons of a run, by cluster."""
    rows = con.execute(
        "select cluster_id, list(reason order by failed_at, reason) from ops.cluster_failures where run_id = ?"
        " group by cluster_id order by cluster_id",
        [run_id],
    ).fetchall()
    return dict(rows)


def running_run(con: duckdb.DuckDBPyConnection) -> str:
    """Return the id of the running run; empty if there is none."""
    run = con.execute("select run_id from ops.runs where status = 'running' order by rowid desc limit 1").fetchone()
    return str(run[0]) if run else ""


def clusters_to_try(con: duckdb.DuckDBPyConnection, stage: str) -> tuple[list[str], list[str]]:
    """List the clusters that the running run has not left out, and those of them that the stage left out last time."""
    found = con.execute(_CLUSTERS_TO_TRY, [stage]).fetchall()
    return [name for name, _ in found], [name for name, was_left_out in found if was_left_out]
