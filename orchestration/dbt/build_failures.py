"""Find the cluster whose rows make dbt fail: failed statements, suspected clusters, and the recorded reason.

Only a build without a cluster can tell. The clusters with the most new files are tried first.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import duckdb

from assets.sources.intake.cluster_failures import record_failures

STAGE = "build"
_OF_NO_ROWS = (
    "parser error",
    "binder error",
    "catalog error",
    "compilation error",
    "out of memory error",
    "io error",
    "no space left",
    "fatal error",
    "internal error",
    "interrupt error",
)
"""Words in errors that no row causes: errors of the statement itself, and errors of the machine."""

_SUSPECTS = """
    select clusters.cluster_id
    from raw.clusters as clusters
    left join ops.files as files on files.cluster_id = clusters.cluster_id and files.run_id = $run_id
    where not list_contains($excluded, clusters.cluster_id)
    group by clusters.cluster_id
    order by count(files.path) desc, clusters.cluster_id
"""


def failed_statements(run_results: Path) -> list[str]:
    """Name the models whose statements failed, with the error."""
    if not run_results.exists():
        return []
    results = json.loads(run_results.read_text(encoding="utf-8"))["results"]
    return [
        f"{result['unique_id'].rpartition('.')[2]} could not be built: {_in_a_line(result.get('message'))}"
        for result in results
        if result["status"] == "error"
    ]


def _in_a_line(message: object) -> str:
    return " ".join(str(message or "").split())[:300]


def may_be_of_rows(failed: Sequence[str]) -> bool:
    """Tell whether statements failed, and each in a way that rows can cause."""
    return bool(failed) and not any(words in message.lower() for message in failed for words in _OF_NO_ROWS)


def suspects(con: duckdb.DuckDBPyConnection, run_id: str, excluded: Sequence[str]) -> list[str]:
    """List the clusters that may be at fault, the likeliest first; none where only one is left."""
    found = con.execute(_SUSPECTS, {"run_id": run_id, "excluded": list(excluded)}).fetchall()
    return [cluster_id for (cluster_id,) in found] if len(found) > 1 else []


def blame(con: duckdb.DuckDBPyConnection, run_id: str, cluster_id: str, reasons: Sequence[str]) -> None:
    """Keep why a cluster could not be built."""
    record_failures(con, run_id, STAGE, {cluster_id: reasons})
