"""Whatever a reader does with a file, the file is refused with the reason, and the rest is loaded."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

from assets.bad_clusters.errors import is_machine_error
from assets.sources.intake import batch
from assets.sources.intake.find.folder import survey
from assets.sources.intake.loading import load_kinds
from assets.sources.kernel import reader as kernel
from assets.sources.reader import Batch, ReadingPlan
from assets.warehouse import is_interruption
from tests.patience import PATIENCE_SECONDS
from tests.sources.folders import connect, load_results, make, rows

XID = "Nov 21 07:34:{second:02d} node001 kernel: NVRM: Xid (PCI:0000:07:00): {code}, pid=1, name=python"


def log(codes: list[int]) -> str:
    return "".join(f"{XID.format(second=place % 60, code=code)}\n" for place, code in enumerate(codes))


def reader_that(step: Callable[[duckdb.DuckDBPyConnection], None] | str, reader=kernel) -> SimpleNamespace:
    """Return a reader with a step before all others."""
    names = ("KIND", "TABLE", "DIALECTS", "VERSION", "PRIVACY", "ROWS", "COVERS", "detect", "dispositions")

    def plan_reading(given: Batch) -> ReadingPlan:
        plan = reader.plan_reading(given)
        return replace(plan, prepare=[step, *plan.prepare])

    return SimpleNamespace(**{name: getattr(reader, name) for name in names}, plan_reading=plan_reading)


def raising_at(*codes: int, error: type[Exception] = OverflowError) -> SimpleNamespace:
    """Return a reader of kernel logs that raises where a line names one of these Xids."""

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


@pytest.mark.parametrize("error", [OverflowError, TypeError, RecursionError, StopIteration])
def test_a_file_at_which_a_reader_raises_is_refused_with_the_first_line_of_the_error(error, tmp_path):
    folder = make(tmp_path, {"c1/kernel/a.log": log([79, 999, 48]), "c1/kernel/b.log": log([48])})
    con, result = loaded(folder, raising_at(999, error=error))
    assert outcome(con) == [("c1/kernel/a.log", 0, 0, 0, 0), ("c1/kernel/b.log", 1, 1, 0, 0)]
    (said,) = result.warnings
    assert said.startswith(f"not read: c1/kernel/a.log: the reader failed on it ({error.__name__}: cannot be: PCI:")
    assert "more of it" not in said


def test_what_was_read_of_a_file_stays_when_its_reader_fails(tmp_path):
    folder = make(tmp_path, {"c1/kernel/a.log": log([79, 48])})
    con, _ = loaded(folder, raising_at(999))
    make(folder, {"c1/kernel/a.log": log([79, 48, 999])})
    loaded(folder, raising_at(999), con)
    assert [(lines, count) for _, lines, count, *_ in outcome(con)] == [(0, 0), (2, 2)]
    make(folder, {"c1/kernel/a.log": log([79, 48, 13])})
    loaded(folder, raising_at(999), con)
    assert [(lines, count) for _, lines, count, *_ in outcome(con)] == [(3, 3)]


def test_a_file_that_stops_its_reader_whatever_is_left_out_is_refused(tmp_path):
    def trip(con: duckdb.DuckDBPyConnection) -> None:
        if con.execute("from batch_files where path like '%bad%'").fetchone():
            raise ValueError("never")

    names = [f"{place:02d}-{'bad' if place in (3, 4, 17) else 'fine'}" for place in range(20)]
    folder = make(tmp_path, {f"c1/kernel/{name}.log": log([79]) for name in names})
    con, result = loaded(folder, reader_that(trip))
    assert [(path, lines) for path, lines, *_ in outcome(con)] == [
        (f"c1/kernel/{name}.log", 0 if "bad" in name else 1) for name in names
    ]
    assert len(result.warnings) == 3


def test_a_lost_line_refuses_its_file_alone(tmp_path):
    plan_reading = kernel.plan_reading
    lost = "select file_id, line_number from lines where line like '%lose me%'"

    def lose_line(given: Batch) -> ReadingPlan:
        plan = plan_reading(given)
        return replace(plan, skipped=f"from ({plan.skipped}) anti join ({lost}) using (file_id, line_number)")

    lose = reader_that("select 1")
    lose.plan_reading = lose_line
    folder = make(tmp_path, {"c1/kernel/a.log": log([79]) + "Nov 21 07:34:10 n1 kernel: lose me\n"})
    make(tmp_path, {"c1/kernel/b.log": log([48])})
    con, _ = loaded(folder, lose)
    assert outcome(con) == [("c1/kernel/a.log", 0, 0, 0, 0), ("c1/kernel/b.log", 1, 1, 0, 0)]
    assert "2 lines, 1 outcomes" in rows(con, "select reason as told from ops.files order by path")[0]["told"]


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


def test_a_file_that_is_removed_while_it_is_read_is_refused_alone(tmp_path):
    folder = make(tmp_path, {"c1/kernel/a.log": log([48]), "c1/kernel/b.log": log([79])})
    removed = folder / "c1" / "kernel" / "a.log"

    def lose(con: duckdb.DuckDBPyConnection) -> None:
        if con.execute("from lines where line like '%: 48,%'").fetchone():
            removed.unlink(missing_ok=True)
            removed.stat()

    con, _ = loaded(folder, reader_that(lose))
    assert outcome(con) == [("c1/kernel/a.log", 0, 0, 0, 0), ("c1/kernel/b.log", 1, 1, 0, 0)]
    assert "No such file" in rows(con, "select reason from ops.files order by path")[0]["reason"]


def test_a_signal_in_the_middle_of_a_query_ends_the_reading_at_once(tmp_path):
    """DuckDB makes an ordinary error of it, and its threads go on until they are stopped."""
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


def test_without_errors_nothing_is_loaded_twice(tmp_path, monkeypatch):
    calls = []
    real = batch.prove_every_line_accounted_for
    monkeypatch.setattr(batch, "prove_every_line_accounted_for", lambda *given: calls.append(1) or real(*given))
    folder = make(tmp_path, {f"c1/kernel/{n}.log": log([79]) for n in range(5)})
    loaded(folder, kernel)
    assert calls == [1]


def test_a_file_for_which_memory_does_not_suffice_names_the_setting(tmp_path):
    folder = make(tmp_path, {"c1/kernel/k.log": log([13])})
    con = connect()
    load_results(folder, con, {"kernel": raising_at(13, error=duckdb.OutOfMemoryException)})
    ((status, next_step),) = con.execute("select status, next_step from ops.files").fetchall()
    assert (status, "FAULTLINE_MEMORY" in next_step) == ("refused", True)
