"""An error in a file or a cluster affects only it: the reason is kept, and the rest is loaded and settled."""

from __future__ import annotations

import gzip
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from assets.bad_clusters.errors import is_machine_error
from assets.sources.intake.across_files import settle
from assets.sources.intake.cluster_failures import failing_by_sources
from assets.sources.intake.excluded_clusters import settle_good_clusters
from assets.sources.intake.find.clusters import write_clusters
from assets.sources.intake.find.folder import survey
from assets.sources.intake.loading import load_kinds
from assets.sources.kernel import reader as kernel
from assets.sources.reader import Batch, ReadingPlan
from assets.sources.sacct import reader as sacct
from assets.warehouse import is_interruption
from tests.logs import export
from tests.patience import PATIENCE_SECONDS
from tests.sources.folders import connect, make, violations

XID = "Nov 21 07:34:{second:02d} {node} kernel: NVRM: Xid (PCI:0000:07:00): {code}, pid=1, name=python\n"
OVERFLOW = "select cast(100 * code as tinyint) from raw.kernel_messages where code = 999"
"""Fails for a cluster with Xid 999."""


def log(codes: list[int], node: str = "node001") -> str:
    return "".join(XID.format(second=place % 60, code=code, node=node) for place, code in enumerate(codes))


def reader_that(step: Callable[[duckdb.DuckDBPyConnection], None] | str, *settling: str) -> SimpleNamespace:
    """Return the reader of kernel logs with an additional first step, and additional steps before it settles."""
    names = ("KIND", "TABLE", "DIALECTS", "VERSION", "PRIVACY", "ROWS", "COVERS", "detect")

    def plan_reading(given: Batch) -> ReadingPlan:
        plan = kernel.plan_reading(given)
        return replace(plan, prepare=[step, *plan.prepare])

    return SimpleNamespace(
        **{name: getattr(kernel, name) for name in names},
        plan_reading=plan_reading,
        dispositions=lambda: [*settling, *kernel.dispositions()],
    )


def raising_at(*codes: int, error: type[Exception] = OverflowError) -> SimpleNamespace:
    """Return a reader of kernel logs that raises at a line with one of these Xids."""

    def look(con: duckdb.DuckDBPyConnection) -> None:
        pattern = "|".join(f"Xid .*: {code}," for code in codes)
        row = con.execute(f"select line from lines where regexp_matches(line, '{pattern}') limit 1").fetchone()
        if row:
            raise error(f"cannot be: {row[0][-40:]}\nmore of it")

    return reader_that(look)


def loaded(folder: Path, reader, con: duckdb.DuckDBPyConnection | None = None):
    con = con or connect()
    found = survey(folder, {reader.KIND: reader})
    return con, load_kinds(con, found, {reader.KIND: reader}, "run")[reader.KIND]


def outcome(con: duckdb.DuckDBPyConnection) -> list[tuple]:
    return con.execute("select path, lines_in, loaded, skipped, quarantined from ops.files order by path").fetchall()


def lost_line() -> SimpleNamespace:
    """Return a reader that does not account for a line."""
    lost = "select file_id, line_number from lines where line like '%: 999,%'"

    def plan_reading(given: Batch) -> ReadingPlan:
        plan = kernel.plan_reading(given)
        return replace(plan, loaded=f"from ({plan.loaded}) anti join ({lost}) using (file_id, line_number)")

    reader = reader_that("select 1")
    reader.plan_reading = plan_reading
    return reader


def removing(file: Path) -> SimpleNamespace:
    """Return a reader that finds a file removed."""

    def look(con: duckdb.DuckDBPyConnection) -> None:
        if con.execute(f"from batch_files where path like '%{file.name}'").fetchone():
            file.unlink(missing_ok=True)
            file.stat()

    return reader_that(look)


@pytest.mark.parametrize(
    ("make_reader", "reason"),
    [
        *(
            (lambda file, error=error: raising_at(999, error=error), f"the reader failed on it ({error.__name__}: ")
            for error in (OverflowError, StopIteration)
        ),
        (lambda file: raising_at(999, error=duckdb.OutOfMemoryException), "memory"),
        (lambda file: lost_line(), "2 lines, 1 outcomes"),
        (removing, "No such file"),
    ],
    ids=["overflow", "stop", "memory", "lost line", "removed"],
)
def test_a_file_at_which_reading_fails_is_refused_alone(
    make_reader: Callable[[Path], Any], reason: str, tmp_path: Path
) -> None:
    """The loader halves a batch to find the file."""
    bad = {3} if make_reader is removing else {3, 4, 17}
    names = [f"c1/kernel/{place:02d}.log" for place in range(20)]
    folder = make(tmp_path, {name: log([79, 999 if place in bad else 48]) for place, name in enumerate(names)})
    con, result = loaded(folder, make_reader(folder / names[3]))
    assert outcome(con) == [
        (name, 0, 0, 0, 0) if place in bad else (name, 2, 2, 0, 0) for place, name in enumerate(names)
    ]
    refused = con.execute("select concat(reason, next_step) from ops.files where status = 'refused'").fetchall()
    for (text,) in refused:
        assert reason in text
        assert "more of it" not in text
        assert ("FAULTLINE_MEMORY" in text) == (reason == "memory")
    assert len(result.warnings) == len(bad)


def test_what_was_read_of_a_file_stays_when_its_reader_fails(tmp_path):
    folder = make(tmp_path, {"c1/kernel/a.log": log([79, 48])})
    con, _ = loaded(folder, raising_at(999))
    make(folder, {"c1/kernel/a.log": log([79, 48, 999])})
    loaded(folder, raising_at(999), con)
    assert [(lines, count) for _, lines, count, *_ in outcome(con)] == [(0, 0), (2, 2)]
    make(folder, {"c1/kernel/a.log": log([79, 48, 13])})
    loaded(folder, raising_at(999), con)
    assert [(lines, count) for _, lines, count, *_ in outcome(con)] == [(3, 3)]


def test_what_is_wrong_with_the_machine_is_not_the_files_fault(tmp_path):
    folder = make(tmp_path, {"c1/kernel/a.log": log([79])})
    for error in (OSError(28, "No space left on device"), duckdb.InterruptException("Interrupted")):

        def trip(_con: duckdb.DuckDBPyConnection, error: Exception = error) -> None:
            raise error

        con = connect()
        with pytest.raises(type(error)):
            loaded(folder, reader_that(trip), con)
        assert outcome(con) == []
    for text, is_machine in [
        ("IO Error: Could not write file x: No space left on device", True),
        ("Out of Memory Error: failed to offload data block of size 32.0 KiB", True),
        ("Conversion Error: Could not convert string 'no space left on device, quota, read-only'", False),
        ("Out of Memory Error: could not allocate block of size 32.0 KiB (1.8 GiB/1.8 GiB used)", False),
    ]:
        assert is_machine_error(duckdb.Error(text)) is is_machine


def test_a_signal_in_the_middle_of_a_query_ends_the_reading_at_once(tmp_path):
    """DuckDB raises an ordinary error, and its threads go on until they are stopped."""
    folder = make(tmp_path, {"c1/kernel/a.log": log([79]), "c1/kernel/b.log": log([79])})

    def compute_for_minutes(con: duckdb.DuckDBPyConnection) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        con.execute("create temp table slow as select count(*) from range(10000000000000) t(i) where hash(i) = 3")

    con, started = connect(), time.monotonic()
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(RuntimeError) as caught:
            loaded(folder, reader_that(compute_for_minutes), con)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert is_interruption(caught.value)
    assert time.monotonic() - started < PATIENCE_SECONDS
    assert outcome(con) == []


def clusters(**codes: list[int]) -> dict[str, str]:
    """Return accounting and a line per code for each cluster. The first line is repeated, so that settling marks it."""
    files = {}
    for name, of_cluster in codes.items():
        files |= {f"{name}/sacct/a.txt": export([{}]), f"{name}/kernel/k.log": log(of_cluster) + log(of_cluster[:1])}
    return files


def settled(folder: Path, con: duckdb.DuckDBPyConnection, *steps: str) -> dict[str, str]:
    """Load a folder as the raw assets do, and return the errors of clusters that could not be settled."""
    readers: dict[str, Any] = {"sacct": sacct, "kernel": reader_that("select 1", *steps)}
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
    folder = make(tmp_path, clusters(a=[79, 48], b=[999, 48], c=[31], d=[999]))
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


@pytest.mark.parametrize(("name", "left"), [("k.log", None), ("k.log.gz", b"cut off\n")])
def test_a_log_that_is_rotated_away_while_it_is_settled_stops_nothing(name, left, tmp_path):
    text = log([79] * 5, node="stranger")
    content = gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()
    folder = make(tmp_path, {**clusters(a=[79]), "a/kernel/" + name: content})
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
