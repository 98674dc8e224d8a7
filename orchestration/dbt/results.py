"""dbt's test results as rows of ops.checks, like those of Great Expectations.

It reads dbt's artifacts and judges nothing itself.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import duckdb

from assets.warehouse import one_value
from orchestration.checks.asset_checks import record_verdicts
from orchestration.checks.verdicts import Verdict
from orchestration.dbt.descriptions import describe_test

TESTS = ("test", "unit_test")
MAX_ROW_CHARACTERS = 500


def record_dbt_results(con: duckdb.DuckDBPyConnection, run_id: str, run_results: Path, manifest: Path) -> int:
    """Write the results of dbt's tests to ops.checks; return the number of verdicts."""
    found = dbt_results(con, run_id, run_results, manifest)
    record_verdicts(con, run_id, "dbt", found)
    return len(found)


def dbt_results(con: duckdb.DuckDBPyConnection, run_id: str, run_results: Path, manifest: Path) -> list[Verdict]:
    """Return the verdicts of dbt's tests, and of models that failed to build.

    Parameters
    ----------
    con, run_id
        A connection to what was built, and the run that built.
    run_results, manifest
        dbt's artifacts; results older than the run's start in ops.runs are from an earlier build and are ignored.
    """
    if not (run_results.exists() and manifest.exists()):
        return []
    results = json.loads(run_results.read_text(encoding="utf-8"))
    started = one_value(con, "select max(started_at) from ops.runs where run_id = ?", [run_id])
    made = datetime.fromisoformat(results["metadata"]["generated_at"]).astimezone(UTC).replace(tzinfo=None)
    if started is not None and made < started:
        return []
    nodes = json.loads(manifest.read_text(encoding="utf-8"))
    return [verdict for result in results["results"] for verdict in dbt_verdicts(con, result, nodes)]


def dbt_verdicts(con: duckdb.DuckDBPyConnection, result: dict[str, Any], manifest: dict[str, Any]) -> list[Verdict]:
    """Turn one dbt result into verdicts; a failed test has one for each cluster with rows that it found.

    Models that were built and skipped tests have none. To dbt, all tests are warnings, so that it builds what is
    downstream of a test that failed for one cluster; `meta: {warns: true}` marks the tests that only warn.
    """
    unique_id, status = str(result["unique_id"]), str(result["status"])
    kind = unique_id.partition(".")[0]
    if status == "skipped" or (kind not in TESTS and status != "error"):
        return []
    node = (manifest["unit_tests"] if kind == "unit_test" else manifest["nodes"])[unique_id]
    judged = _judged_node(node, manifest) if kind in TESTS else node
    table_name = f"{judged['schema']}.{judged['name']}"
    message = " ".join(str(result.get("message") or "").split())
    if kind not in TESTS:
        return [Verdict(table_name, "builds", False, True, message, f"dbt builds {table_name}")]
    is_blocking = not (node.get("config", {}).get("meta") or {}).get("warns", False)
    expected = describe_test(node)
    verdict = partial(Verdict, table_name, node["name"])
    if status in ("pass", "success"):
        return [verdict(True, is_blocking, "no violation", expected)]
    found = broken_rules_by_cluster(con, str(result.get("compiled_code") or "")) if kind == "test" else {}
    if not found:
        return [verdict(False, is_blocking, message, expected)]
    return [
        verdict(False, is_blocking, observed, must_hold or expected, cluster_id)
        for cluster_id, (observed, must_hold) in found.items()
    ]


def broken_rules_by_cluster(con: duckdb.DuckDBPyConnection, test_sql: str) -> dict[str | None, tuple[str, str]]:
    """Run a failed test again, because dbt only counts the rows that it finds.

    Returns
    -------
    dict
        By cluster: how many rows break each rule, with the first of them, and the rules that must hold, if the test
        names them. The key of rows without a cluster is None. It is empty if the statement cannot be run again.
    """
    if not test_sql:
        return {}
    try:
        names = [column[0] for column in con.execute(f"select * from (\n{test_sql}\n) limit 0").description or []]
        cluster, rule = (name if name in names else "null::varchar" for name in ("cluster_id", "broken_rule"))
        rows = con.execute(
            f"""
            select {cluster}, {rule}, count(*), any_value(found)
            from (\n{test_sql}\n) as found
            group by 1, 2
            order by 1, 2
            """
        ).fetchall()
    except duckdb.Error:
        return {}
    found = {}
    for cluster_id, of_cluster in groupby(rows, key=itemgetter(0)):
        broken = [(count, f" with {rule}" if rule else "", first) for _, rule, count, first in of_cluster]
        observed = "; ".join(_count_and_first(*of_rule) for of_rule in broken)
        found[cluster_id] = observed, " and ".join(f"no row{which}" for _, which, _ in broken if which)
    return found


def _count_and_first(count: int, which: str, first: dict[str, Any]) -> str:
    shown = ", ".join(f"{name} {value}" for name, value in first.items() if name != "broken_rule")
    return f"{count:,} row{'s' * (count != 1)}{which}; first: {shown[:MAX_ROW_CHARACTERS]}"


def _judged_node(test: dict[str, Any], manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the model, seed or source that a test belongs to; for several models, the first."""
    candidates = [test.get("attached_node"), *(test.get("depends_on") or {}).get("nodes", [])]
    for unique_id in candidates:
        found = manifest["nodes"].get(unique_id) or manifest.get("sources", {}).get(unique_id)
        if found:
            return dict(found)
    return {"schema": test.get("schema", "dbt"), "name": test.get("model") or test["name"]}
