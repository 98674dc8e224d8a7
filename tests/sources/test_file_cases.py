"""Files of many forms, awkward records and odd lines come to what `fixtures/cases` says of each.

One odd line stops nothing: it is quarantined with a reason, or kept where it does no harm.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from assets.sources.formats import READERS
from tests.sources.cases import ALL_CASES, files_of
from tests.sources.folders import MODIFIED, connect, everything, load, load_results, make, rows

NAMED = [
    pytest.param(kind, number, id=f"{kind}: {case['name']}")
    for kind, cases in ALL_CASES.items()
    for number, case in enumerate(cases)
]
REPEATS = {"duplicate", "coalesced"}
"""Rows that are skipped because others say the same."""
BELIEVABLE = "{0} >= timestamp '2000-01-01' and {0} <= now()::timestamp + interval 1 day"
HOLDS = {
    "health": [BELIEVABLE.format("observed_at"), "started_at <= observed_at", "not list_contains(xid_codes, 0)"],
    "kernel": [BELIEVABLE.format("occurred_at"), "kind <> 'xid' or code >= 1", "repeat_count >= 1"],
    "slurmctld": [
        BELIEVABLE.format("logged_at"),
        "kind <> 'preempted' or coalesce(instigator_job_id_raw, instigator_array_job_id) is not null",
        "kind <> 'preempted' or (job_id_raw is not null and job_id_raw is distinct from instigator_job_id_raw)",
    ],
    "events": [BELIEVABLE.format("started_at"), BELIEVABLE.format("ended_at"), "started_at <= ended_at"],
    "inventory": [
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
Connections = dict[str, duckdb.DuckDBPyConnection]


def cluster_of(case: dict[str, Any], number: int) -> str:
    """Return the cluster of a case: its own, unless it shares one."""
    return case.get("cluster", f"c{number}")


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Connections:
    """All cases of each kind, loaded at once."""
    loaded = {}
    for kind, cases in ALL_CASES.items():
        folder = tmp_path_factory.mktemp(kind)
        for number, case in enumerate(cases):
            modified = case.get("modified", MODIFIED).replace(tzinfo=UTC)
            files = {"cluster.toml": case.get("config", ""), **files_of(case)}
            make(folder / cluster_of(case, number), files, modified)
        loaded[kind] = connect()
        (result,) = load_results(folder, loaded[kind], {kind: READERS[kind]}).values()
        assert not [warning for warning in result.warnings if "the reader failed" in warning], (
            "nothing was left to chance"
        )
    return loaded


def shown(row: dict[str, Any], names: Any) -> list[Any]:
    """Give columns of a row as a case writes them; hosts of a node are in any order."""
    values = {name: "unknown" if row[name] is None else row[name] for name in names}
    return [
        sorted(value) if name == "host_names" else str(value) if isinstance(value, datetime) else value
        for name, value in values.items()
    ]


@pytest.mark.parametrize(("kind", "number"), NAMED)
def test_case(kind: str, number: int, together: Connections) -> None:
    case, con = ALL_CASES[kind][number], together[kind]
    cluster = cluster_of(case, number)
    paths = ", ".join("'" + f"{cluster}/{path}".replace("'", "''") + "'" for path in files_of(case))
    of_case = f"where cluster_id = '{cluster}' and path in ({paths})"
    (file, *_) = rows(con, f"select * from ops.files {of_case}")
    assert (file["status"] == "refused") == ("refused" in case), file["reason"]
    assert file["status"] == case.get("status", file["status"])
    assert case.get("refused", "") in (file["reason"] or "")
    assert case.get("hint", "") in (file["next_step"] or "")
    every_row = rows(
        con,
        "select line_number as place, *, substr(path, length(cluster_id) + 2) as file "
        f"from raw.{READERS[kind].TABLE} {of_case} order by all",
    )
    for row, wanted in zip(every_row, case.get("in_order", every_row), strict=True):
        assert shown(row, wanted) == shown(wanted, wanted)
    for name, default in (("disposition", None), ("line_count", 1)):
        values = [row.get(name, default) for row in every_row]
        assert case.get(f"{name}s", values) == values
    found = [row for row in every_row if row["disposition"] == "loaded" or "cluster" in case]
    assert len(found) == case.get("loaded", len(found))
    if "rows" in case:
        names = case["rows"][0]
        assert sorted(repr(shown(row, names)) for row in found) == sorted(
            repr(shown(row, names)) for row in case["rows"]
        )
    for wanted in case.get("among", []):
        assert shown(wanted, wanted) in [shown(row, wanted) for row in found]
    every = case.get("every", {})
    assert [row for row in found if shown(row, every) != shown(every, every)] == []
    quarantined = rows(con, f"select line_number, reason, detail from ops.quarantine {of_case}")
    assert Counter(row["reason"] for row in quarantined) == case.get(
        "reasons", Counter(row["reason"] for row in quarantined)
    )
    if "quarantined" in case or not case.keys() & {"account", "reasons"}:
        assert {str(row["line_number"]): row["reason"] for row in quarantined} == case.get("quarantined", {})
    texts_of = [row["detail"] or "" for row in quarantined], [row.get("message") or "" for row in found]
    for wanted, texts in zip((case.get("details", []), case.get("messages", [])), texts_of, strict=True):
        assert [text for text in wanted if not any(text in given for given in texts)] == []
    account = [file[name] for name in ("lines_in", "loaded", "skipped", "quarantined")]
    assert account == case.get("account", account)
    skips = dict(con.execute(f"select reason, line_count from ops.skips {of_case}").fetchall())
    assert "skips" not in case or {reason: skips[reason] for reason in skips.keys() - REPEATS} == case["skips"]
    assert file["warnings"] == case.get("warnings", file["warnings"])
    assert file["is_partial"] == case.get("partial", file["is_partial"])


@pytest.mark.parametrize("kind", HOLDS)
def test_nothing_that_is_let_in_breaks_a_check_or_stretches_what_a_log_covers(kind: str, together: Connections) -> None:
    """A line dated 1970 says nothing about 1970."""
    for condition in HOLDS[kind]:
        query = f"select path, line_number from raw.{READERS[kind].TABLE} where not ({condition})"
        assert together[kind].execute(query).fetchall() == [], condition
    stretched = "select path from ops.files where first_at < '2000-01-01' or last_at > now() + interval 1 day"
    assert together[kind].execute(stretched).fetchall() == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind, cases in ALL_CASES.items() if any("files" in case for case in cases)])
def test_files_that_come_one_by_one_in_any_order_are_what_they_are_at_once(kind: str, tmp_path: Path) -> None:
    """Each case with several files, the last of them first."""
    cases = {f"c{number}": case for number, case in enumerate(ALL_CASES[kind]) if "files" in case}
    con = connect()
    for place in range(max(len(case["files"]) for case in cases.values())):
        for cluster, case in cases.items():
            arriving = dict([*reversed(case["files"].items())][place : place + 1])
            make(tmp_path / cluster, {"cluster.toml": case.get("config", ""), **arriving})
        load(tmp_path, con, {kind: READERS[kind]})
    assert everything(con) == everything(load(tmp_path, readers={kind: READERS[kind]}))
