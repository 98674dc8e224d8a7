"""Clusters that a run leaves out, with reasons, in `ops.cluster_failures`.

Raw, dbt, the estimates and the checks add to the list. Dbt's macro `source_table`, the search in a failed step, the
checks and the step that puts last good rows in place read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import duckdb

PRIVACY = "privacy"
"""The stage of clusters whose names are to be read in another way than before."""
CHANGED_PRIVACY = f"""
    select cluster_id from ops.cluster_failures
    where stage = '{PRIVACY}' and run_id = (select run_id from ops.runs order by rowid desc limit 1)
"""
"""Clusters of the last run of which nothing is published, neither numbers nor texts."""
_SUSPECTS = """
    select clusters.cluster_id
    from raw.clusters as clusters
    left join ops.files as files on files.cluster_id = clusters.cluster_id and files.run_id = $run_id
    where clusters.cluster_id not in (select cluster_id from ops.cluster_failures where run_id = $run_id)
    group by clusters.cluster_id
    order by count(files.path) desc, clusters.cluster_id
"""


def record_failures(
    con: duckdb.DuckDBPyConnection, run_id: str, stage: str, failures: Mapping[str, Iterable[str]]
) -> None:
    """Keep reasons by cluster, in place of what the same stage of the same run said before."""
    con.execute("delete from ops.cluster_failures where run_id = ? and stage = ?", [run_id, stage])
    add_failures(con, run_id, stage, failures)


def add_failures(
    con: duckdb.DuckDBPyConnection, run_id: str, stage: str, failures: Mapping[str, Iterable[str]]
) -> None:
    """Keep reasons by cluster, beside those that are there."""
    now = datetime.now(UTC).replace(tzinfo=None)
    for cluster_id, reasons in sorted(failures.items()):
        for reason in dict.fromkeys(reasons):
            con.execute(
                "insert into ops.cluster_failures values (?, ?, ?, ?, ?)", [run_id, cluster_id, stage, reason, now]
            )


def failing_clusters(con: duckdb.DuckDBPyConnection, run_id: str, other_than: str = "") -> dict[str, list[str]]:
    """Read the reasons of a run, by cluster; leave those of one stage aside."""
    found: dict[str, list[str]] = {}
    rows = con.execute(
        "select cluster_id, reason from ops.cluster_failures where run_id = ? and stage <> ? "
        "order by cluster_id, failed_at, reason",
        [run_id, other_than],
    ).fetchall()
    for cluster_id, reason in rows:
        found.setdefault(cluster_id, []).append(reason)
    return found


def running_run(con: duckdb.DuckDBPyConnection) -> str:
    """Name the run that is under way; it is empty where there is none."""
    run = con.execute("select run_id from ops.runs where status = 'running' order by rowid desc limit 1").fetchone()
    return str(run[0]) if run else ""


def suspects(con: duckdb.DuckDBPyConnection, run_id: str) -> list[str]:
    """List the clusters that a run has not left out, those with the most new files first."""
    return [cluster_id for (cluster_id,) in con.execute(_SUSPECTS, {"run_id": run_id}).fetchall()]
