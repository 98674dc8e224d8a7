"""One odd line never stops anything: it is quarantined with a reason, or kept where it does no harm.

The lines are in `fixtures/cases/odd_lines.jsonl`: each once stopped a night, or a mutation of a good line did
(`test_fuzzing`). All are files of one folder, read in one load.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from assets.sources.formats import READERS
from assets.sources.intake.find.folder import survey
from assets.sources.intake.loading import load_kinds
from tests.logs import export
from tests.sources.folders import connect, load_results, make, rows

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "fixtures" / "cases" / "odd_lines.jsonl").read_text("utf-8").splitlines()
]
SUFFIX = {"tickets": "csv"}
BELIEVABLE = "{0} >= timestamp '2000-01-01' and {0} <= now()::timestamp + interval 1 day"
HOLDS = {
    "health_checks": [BELIEVABLE.format("observed_at"), "started_at <= observed_at", "not list_contains(xid_codes, 0)"],
    "kernel_messages": [BELIEVABLE.format("occurred_at"), "kind <> 'xid' or code >= 1", "repeat_count >= 1"],
    "slurmctld_events": [
        BELIEVABLE.format("logged_at"),
        "kind <> 'preempted' or coalesce(instigator_job_id_raw, instigator_array_job_id) is not null",
        "kind <> 'preempted' or (job_id_raw is not null and job_id_raw is distinct from instigator_job_id_raw)",
    ],
    "node_events": [BELIEVABLE.format("started_at"), BELIEVABLE.format("ended_at"), "started_at <= ended_at"],
    "nodes": [
        BELIEVABLE.format("captured_at"), BELIEVABLE.format("booted_at"), "cpu_count >= 1", "memory_mib >= 0",
        "gpu_count >= 0",
    ],
    "tickets": [BELIEVABLE.format("opened_at"), "opened_at <= closed_at"],
    "sacct": [
        *(BELIEVABLE.format(f"{name}_at") for name in ("submitted", "started", "ended")),
        "started_at <= ended_at", "submitted_at <= ended_at", "elapsed_seconds >= 0", "suspended_seconds >= 0",
        "elapsed_seconds < 4e9", "suspended_seconds < 4e9", "time_limit_seconds between 0 and 4e9", "gpu_count >= 0",
        "requested_node_count between 0 and 100000", "isfinite(requested_memory_mib)",
    ],
}  # fmt: skip
"""What the border's checks demand of every row: no line that is let in may break it."""


def path_of(case: dict[str, Any]) -> str:
    """Return the file of a case: cases of one time zone are one cluster."""
    zone = case.get("timezone", "UTC").rpartition("/")[2].lower()
    return f"{zone}/{case['kind']}/{case.get('file', case['id'])}.{SUFFIX.get(case['kind'], 'log')}"


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """All cases, loaded at once."""
    folder = tmp_path_factory.mktemp("odd")
    for case in CASES:
        path = path_of(case)
        cluster = path.partition("/")[0]
        settings = f'timezone = "{case.get("timezone", "UTC")}"\n'
        text = case["input"].encode("utf-8", "surrogatepass")
        make(folder, {path: text + b"\n", f"{cluster}/cluster.toml": settings, f"{cluster}/sacct/good": export([{}])})
    connection = connect()
    results = load_results(folder, connection, READERS)
    assert [warning for result in results.values() for warning in result.warnings] == [], "nothing was left to chance"
    return connection


def _shown(value: Any) -> Any:
    return str(value) if isinstance(value, datetime) else value


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, Any], con: duckdb.DuckDBPyConnection) -> None:
    path, table = path_of(case), READERS[case["kind"]].TABLE
    kept = rows(con, f"select line_number, reason from ops.quarantine where path = '{path}' order by line_number")
    found = rows(con, f"select * from raw.{table} where path = '{path}' order by line_number")
    assert {str(row["line_number"]): row["reason"] for row in kept} == case.get("quarantined", {})
    if "loaded" in case:
        assert [{name: _shown(row[name]) for name in case["loaded"][0]} for row in found] == case["loaded"]
    accounted = con.execute("select lines_in = loaded + skipped + quarantined from ops.files where path = ?", [path])
    assert accounted.fetchone() == (True,)


@pytest.mark.parametrize("table", HOLDS)
def test_nothing_that_is_let_in_breaks_a_check(table: str, con: duckdb.DuckDBPyConnection) -> None:
    for condition in HOLDS[table]:
        query = f"select path, line_number from raw.{table} where not ({condition})"
        assert con.execute(query).fetchall() == [], condition
    assert con.execute(f"select count(*) > 0 from raw.{table}").fetchone() == (True,)


def test_odd_times_do_not_stretch_what_a_log_covers(con: duckdb.DuckDBPyConnection) -> None:
    """A line dated 1970 says nothing about 1970."""
    stretched = con.execute(
        "select path from ops.files where first_at < '2000-01-01' or last_at > now() + interval 1 day"
    ).fetchall()
    assert stretched == []


def test_a_file_read_whole_gives_what_its_lines_give(tmp_path: Path) -> None:
    """An odd line sends a file of check results to the reader of lines; the others are as if it were not there."""
    good = [case["input"] for case in CASES if case["id"] == "health-clock-stepped-back"] * 3
    odd = next(case["input"] for case in CASES if case["id"] == "health-ran-backwards")
    texts = {"good": good, "odd": [*good, odd]}
    loaded = {}
    for name, lines in texts.items():
        folder = make(tmp_path / name, {"c1/health/a.jsonl": "".join(f"{line}\n" for line in lines)})
        connection = connect()
        readers = {"health": READERS["health"]}
        load_kinds(connection, survey(folder, readers), readers, "run")
        loaded[name] = rows(connection, "select * exclude (cluster_id) from raw.health_checks order by all")
        assert rows(connection, "select quarantined from ops.files") == [{"quarantined": int(name == "odd")}]
    assert loaded["odd"] == loaded["good"]
