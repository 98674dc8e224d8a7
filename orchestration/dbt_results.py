"""dbt's test results as rows of ops.checks, beside those of Great Expectations.

It reads dbt's artifacts and judges nothing itself.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from orchestration import verdicts
from orchestration.verdicts import Verdict

TESTS = ("test", "unit_test")
LONGEST_ROW = 500


def record_dbt_results(con: duckdb.DuckDBPyConnection, run_id: str, run_results: Path, manifest: Path) -> int:
    """Write dbt's test results, and models that failed to build, to ops.checks.

    Parameters
    ----------
    con, run_id
        A writing connection, and the run that built.
    run_results, manifest
        dbt's artifacts; results older than the run's start in ops.runs are those of an earlier build and are ignored.

    Returns
    -------
    Number of rows written.
    """
    if not (run_results.exists() and manifest.exists()):
        return 0
    results = json.loads(run_results.read_text(encoding="utf-8"))
    started = con.execute("select max(started_at) from ops.runs where run_id = ?", [run_id]).fetchall()[0][0]
    made = datetime.fromisoformat(results["metadata"]["generated_at"]).astimezone(UTC).replace(tzinfo=None)
    if started is not None and made < started:
        return 0
    nodes = json.loads(manifest.read_text(encoding="utf-8"))
    found = [verdict for result in results["results"] if (verdict := dbt_verdict(con, result, nodes)) is not None]
    verdicts.record(con, run_id, found)
    return len(found)


def dbt_verdict(con: duckdb.DuckDBPyConnection, result: dict[str, Any], manifest: dict[str, Any]) -> Verdict | None:
    """Turn one dbt result into a verdict; None for a model that was built and for what was skipped."""
    unique_id, status = str(result["unique_id"]), str(result["status"])
    kind = unique_id.partition(".")[0]
    if status == "skipped" or (kind not in TESTS and status != "error"):
        return None
    node = (manifest["unit_tests"] if kind == "unit_test" else manifest["nodes"])[unique_id]
    judged = _judged_node(node, manifest) if kind in TESTS else node
    table_name = f"{judged['schema']}.{judged['name']}"
    message = " ".join(str(result.get("message") or "").split())
    if kind not in TESTS:
        return Verdict(table_name, "builds", False, True, message, f"dbt builds {table_name}")
    is_blocking = status != "warn" and str(node.get("config", {}).get("severity", "error")).lower() == "error"
    passed = status in ("pass", "success")
    expected = str(node.get("description") or "") or _test_in_words(node)
    seen = first_row(con, str(result.get("compiled_code") or "")) if kind == "test" and not passed else ""
    observed = "no violation" if passed else f"{message}{seen}"
    return Verdict(table_name, node["name"], passed, is_blocking, observed, expected)


def first_row(con: duckdb.DuckDBPyConnection, test_sql: str) -> str:
    """Show the first row a failed test found, which dbt counts but does not tell; empty when there is none to show."""
    if not test_sql:
        return ""
    try:
        cursor = con.execute(f"select * from (\n{test_sql}\n) limit 1")
        names = [column[0] for column in cursor.description or []]
        row = cursor.fetchone()
    except duckdb.Error:
        return ""
    shown = ", ".join(f"{name} {value}" for name, value in zip(names, row or (), strict=bool(row)))
    return f"; first: {shown[:LONGEST_ROW]}" if shown else ""


def _judged_node(test: dict[str, Any], manifest: dict[str, Any]) -> dict[str, Any]:
    """Find the model, seed or source a test stands under; a test of several models belongs to the first."""
    candidates = [test.get("attached_node"), *(test.get("depends_on") or {}).get("nodes", [])]
    for unique_id in candidates:
        found = manifest["nodes"].get(unique_id) or manifest.get("sources", {}).get(unique_id)
        if found:
            return dict(found)
    return {"schema": test.get("schema", "dbt"), "name": test.get("model") or test["name"]}


def _test_in_words(test: dict[str, Any]) -> str:
    metadata = test.get("test_metadata") or {}
    column = test.get("column_name") or (metadata.get("kwargs") or {}).get("column_name")
    return f"{metadata['name']} of {column}" if metadata and column else str(metadata.get("name") or test["name"])
