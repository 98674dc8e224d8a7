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
from tests.sources.folders import connect, make, violations

XID = "Nov 21 07:34:{second:02d} {node} kernel: NVRM: Xid (PCI:0000:07:00): {code}, pid=1, name=python\n"
OVERFLOW = "select cast(100 * code as tinyint) from raw.kernel_messages where code = 999"
"""Fails where a cluster has Xid 999."""


def reader(*steps: str) -> SimpleNamespace:
    """Return the reader of kernel logs with steps before those that settle its table."""
    names = ("KIND", "TABLE", "DIALECTS", "VERSION", "PRIVACY", "ROWS", "COVERS", "detect", "plan_reading")
    given = {name: getattr(kernel, name) for name in names}
    return SimpleNamespace(**given, dispositions=lambda: [*steps, *kernel.dispositions()])


def clusters(**codes: tuple[int, ...]) -> dict[str, str]:
    """Write accounting and a line per code for each cluster; the first line is repeated, which settling marks."""
    files = {}
    for name, of_cluster in codes.items():
        lines = [XID.format(second=place, code=code, node="node001") for place, code in enumerate(of_cluster)]
        files |= {f"{name}/sacct/a.txt": export([{}]), f"{name}/kernel/k.log": "".join([*lines, lines[0]])}
    return files


def settled(folder: Path, con: duckdb.DuckDBPyConnection, *steps: str) -> dict[str, str]:
    """Load a folder as the raw assets do, and give the errors of the clusters that were not settled."""
    readers: dict[str, Any] = {"sacct": sacct, "kernel": reader(*steps)}
    found = survey(folder, readers)
    write_clusters(con, found)
    load_kinds(con, found, readers, "run")
    errors = settle_good_clusters(con, found, partial(settle, readers=readers))
    assert violations(con) == []
    assert list(failing_by_sources(con, found, errors)) == list(errors)
    return {name: str(error) for name, error in errors.items()}


def rows_of(con: duckdb.DuckDBPyConnection, cluster_id: str) -> list[list[tuple]]:
    tables = ("raw.sacct", "raw.kernel_messages", "raw.node_names", "raw.node_lists", "ops.files", "ops.skips")
    return [
        con.execute(f"select * from {table} where cluster_id = ? order by all", [cluster_id]).fetchall()
        for table in tables
    ]


def test_those_at_fault_stay_as_they_were_and_all_is_settled_once_that_works(tmp_path):
    folder = make(tmp_path, clusters(a=(79, 48), b=(999, 48), c=(31,), d=(999,)))
    con, whole = connect(), connect()
    errors = settled(folder, con, OVERFLOW)
    assert list(errors) == ["b", "d"]
    assert errors["b"].startswith("b: its rows could not be settled (ConversionException: Conversion Error: Type INT")
    step = "kind: kernel). Take its newest files out of the folder, run `faultline refresh --forget b/FILE --yes`"
    assert step in errors["b"]
    assert settled(folder, whole) == {}
    assert [rows_of(con, name) for name in "ac"] == [rows_of(whole, name) for name in "ac"]
    dispositions = "select disposition from raw.kernel_messages where cluster_id = 'b' order by 1"
    assert con.execute(dispositions).fetchall() == [("loaded",)] * 3
    assert whole.execute(dispositions).fetchall() == [("coalesced",), ("loaded",), ("loaded",)]
    assert settled(folder, con) == {}
    assert [rows_of(con, name) for name in "abcd"] == [rows_of(whole, name) for name in "abcd"]


@pytest.mark.parametrize(
    ("step", "error"),
    [
        ("select cast(100 * code as tinyint) from raw.kernel_messages", duckdb.ConversionException),
        ("from raw.nowhere", duckdb.CatalogException),
        (
            "select error('x') from raw.kernel_messages having count(distinct cluster_id) > 1",
            duckdb.InvalidInputException,
        ),
    ],
)
def test_where_every_cluster_or_none_is_at_fault_the_steps_own_error_is_raised(step, error, tmp_path):
    with pytest.raises(error):
        settled(make(tmp_path, clusters(a=(79,), b=(999,))), connect(), step)


@pytest.mark.parametrize(("place", "found"), [("b/kernel/k.log", ["b"]), ("elsewhere", None)])
def test_a_log_that_cannot_be_opened_concerns_its_cluster_and_another_file_nobody(place, found, tmp_path):
    folder = make(tmp_path, clusters(a=(79,), b=(48,)))
    tried = []

    def step(_con, of):
        tried.append("".join(of.clusters))
        if "b" in of.clusters:
            raise PermissionError(13, "Permission denied", str(folder / place))

    def settle_all():
        return settle_good_clusters(connect(), survey(folder, {"sacct": sacct, "kernel": kernel}), step)

    if found:
        errors = settle_all()
        assert list(errors) == found
        assert "PermissionError" in str(errors["b"])
    else:
        with pytest.raises(PermissionError):
            settle_all()
    assert tried == (["ab", "a", "b"] if found else ["ab"])


@pytest.mark.parametrize("name", ["k.log", "k.log.gz"])
@pytest.mark.parametrize("left", [None, b"cut off\n"])
def test_a_log_that_is_rotated_away_while_it_is_settled_stops_nothing(name, left, tmp_path):
    text = "".join(XID.format(second=second, node="stranger", code=79) for second in range(5))
    content = gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()
    folder = make(tmp_path, {**clusters(a=(79,)), "a/kernel/" + name: content})
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
