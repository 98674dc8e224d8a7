"""Rows of one cluster that make settling fail leave the other clusters as if it were not there."""

from __future__ import annotations

import gzip
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from assets.sources.intake.across_files import settle
from assets.sources.intake.cluster_failures import failing_by_sources
from assets.sources.intake.excluded_clusters import settle_good_clusters
from assets.sources.intake.find.clusters import write_clusters
from assets.sources.intake.find.folder import survey
from assets.sources.intake.loading import load_kinds
from assets.sources.kernel import reader as kernel
from assets.sources.sacct import reader as sacct
from tests.logs import export
from tests.sources.folders import connect, load_results, make, violations

XID = "Nov 21 07:34:{second:02d} {node} kernel: NVRM: Xid (PCI:0000:07:00): {code}, pid=1, name=python\n"
OVERFLOW = "select cast(100 * code as tinyint) from raw.kernel_messages where code = 999"
"""Fails where a cluster has Xid 999."""


def reader(*steps: str) -> SimpleNamespace:
    """Return the reader of kernel logs with steps before those that settle its table."""
    names = ("KIND", "TABLE", "DIALECTS", "VERSION", "PRIVACY", "ROWS", "COVERS", "detect", "plan_reading")
    given = {name: getattr(kernel, name) for name in names}
    return SimpleNamespace(**given, dispositions=lambda: [*steps, *kernel.dispositions()])


def log(*codes: int, node: str = "node001") -> str:
    """Write a line per code, and the first once more, which is settled as a repeat."""
    lines = [XID.format(second=place % 60, code=code, node=node) for place, code in enumerate(codes)]
    return "".join([*lines, lines[0]])


def cluster(name: str, *codes: int, node: str = "node001") -> dict[str, str]:
    return {f"{name}/sacct/a.txt": export([{}]), f"{name}/kernel/k.log": log(*codes, node=node)}


def spared(folder: Path, con: duckdb.DuckDBPyConnection, *steps: str) -> dict[str, str]:
    """Load a folder as the raw assets do, and give the errors of the clusters that were spared."""
    readers: dict[str, Any] = {"sacct": sacct, "kernel": reader(*steps)}
    found = survey(folder, readers)
    write_clusters(con, found)
    load_kinds(con, found, readers, "run")
    errors = settle_good_clusters(con, found, partial(settle, readers=readers))
    assert violations(con) == []
    return {name: str(error) for name, error in errors.items()}


def rows_of(con: duckdb.DuckDBPyConnection, cluster_id: str) -> list[list[tuple]]:
    tables = ("raw.sacct", "raw.kernel_messages", "raw.node_names", "raw.node_lists", "ops.files", "ops.skips")
    return [
        con.execute(f"select * from {table} where cluster_id = ? order by all", [cluster_id]).fetchall()
        for table in tables
    ]


def test_a_statement_that_fails_on_one_clusters_rows_settles_the_others(tmp_path):
    folder = make(tmp_path, {**cluster("a", 79, 48), **cluster("b", 999, 48), **cluster("c", 31)})
    con = connect()
    errors = spared(folder, con, OVERFLOW)
    assert list(errors) == ["b"]
    assert errors["b"].startswith("b: its rows could not be settled (ConversionException: Conversion Error: Type INT")
    step = "kind: kernel). Take its newest files out of the folder, run `faultline refresh --forget b/FILE --yes`"
    assert step in errors["b"]
    whole = connect()
    assert spared(folder, whole) == {}
    assert [rows_of(con, name) for name in "ac"] == [rows_of(whole, name) for name in "ac"]
    dispositions = "select disposition from raw.kernel_messages where cluster_id = 'b' order by 1"
    assert con.execute(dispositions).fetchall() == [("loaded",)] * 3
    assert whole.execute(dispositions).fetchall() == [("coalesced",), ("loaded",), ("loaded",)]


@pytest.mark.slow
def test_what_was_spared_is_settled_once_that_works(tmp_path):
    folder = make(tmp_path, {**cluster("a", 79, 48), **cluster("b", 999, 48)})
    con, whole = connect(), connect()
    assert list(spared(folder, con, OVERFLOW)) == ["b"]
    assert spared(folder, con) == spared(folder, whole) == {}
    assert [rows_of(con, name) for name in "ab"] == [rows_of(whole, name) for name in "ab"]


def test_several_clusters_are_spared_at_once_and_each_is_told(tmp_path):
    folder = make(tmp_path, {**cluster("a", 999), **cluster("b", 999), **cluster("c", 31)})
    assert list(spared(folder, connect(), OVERFLOW)) == ["a", "b"]


@pytest.mark.slow
def test_where_no_cluster_is_left_or_none_is_at_fault_the_error_is_raised(tmp_path):
    folder = make(tmp_path, {**cluster("a", 999), **cluster("b", 999)})
    with pytest.raises(duckdb.ConversionException):
        spared(folder, connect(), OVERFLOW)
    with pytest.raises(duckdb.CatalogException):
        spared(folder, connect(), "from raw.nowhere")
    both = "select error('too many') from raw.kernel_messages having count(distinct cluster_id) > 1"
    with pytest.raises(duckdb.InvalidInputException):
        spared(folder, connect(), both)


def test_errors_of_the_machine_are_nobodys(tmp_path):
    folder = make(tmp_path, {**cluster("a", 79), **cluster("b", 48)})
    con = connect()
    tried = []

    def step(_con, clusters):
        tried.append(sorted(clusters.clusters))
        raise OSError(28, "No space left on device", "/elsewhere/faultline.duckdb")

    with pytest.raises(OSError, match="No space"):
        settle_good_clusters(con, survey(folder, {"sacct": sacct}), step)
    assert tried == [["a", "b"]]


def test_a_log_that_cannot_be_opened_any_more_concerns_its_cluster(tmp_path):
    folder = make(tmp_path, {**cluster("a", 79), **cluster("b", 48)})
    found = survey(folder, {"sacct": sacct})

    def step(_con, clusters):
        for file in clusters.files:
            if file.cluster_id == "b":
                raise PermissionError(13, "Permission denied", str(file.absolute))

    errors = settle_good_clusters(connect(), found, step)
    assert list(errors) == ["b"]
    assert "PermissionError" in str(errors["b"])


@pytest.mark.parametrize("name", ["k.log", "k.log.gz"])
@pytest.mark.parametrize("left", [None, b"cut off\n"])
def test_a_log_that_is_rotated_away_while_it_is_settled_stops_nothing(name, left, tmp_path):
    text = "".join(XID.format(second=second, node="stranger", code=79) for second in range(5))
    content = gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()
    folder = make(tmp_path, {**cluster("a", 79), "a/kernel/" + name: content})
    con = connect()
    readers: dict[str, Any] = {"sacct": sacct, "kernel": kernel}
    found = survey(folder, readers)
    write_clusters(con, found)
    load_kinds(con, found, readers, "run")
    path = folder / "a/kernel" / name
    if left is None:
        path.unlink()
    else:
        path.write_bytes(gzip.compress(left) if name.endswith(".gz") else left)
    assert settle_good_clusters(con, found, partial(settle, readers=readers)) == {}
    assert violations(con) == []
    kept = con.execute("select line_number, raw from ops.quarantine order by 1").fetchall()
    assert [number for number, _ in kept] == [1, 2, 3, 4, 5]
    assert {raw for _, raw in kept[1:]} == {""}


def test_clusters_that_were_spared_are_failing_and_none_may_be_left(tmp_path):
    folder = make(tmp_path, {**cluster("a", 79), **cluster("b", 999)})
    con = connect()
    load_results(folder, con, {"sacct": sacct})
    found = survey(folder, {"sacct": sacct})
    errors = settle_good_clusters(con, found, partial(_fail, {"b"}))
    assert list(failing_by_sources(con, found, errors)) == ["b"]


def _fail(wrong: set[str], _con, clusters) -> None:
    if wrong & clusters.clusters.keys():
        raise OverflowError("date value out of range")
