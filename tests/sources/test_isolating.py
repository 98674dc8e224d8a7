"""Whatever a reader does at a line, the line is quarantined with file, number and reason, and the rest is loaded."""

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
from assets.sources.intake import batch, isolating
from assets.sources.intake.find.folder import survey
from assets.sources.intake.loading import load_kinds
from assets.sources.kernel import reader as kernel
from assets.sources.reader import Batch, ReadingPlan
from assets.sources.sacct import reader as sacct
from assets.sources.tickets import reader as tickets
from assets.warehouse import is_interruption
from tests.logs import export
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


@pytest.mark.parametrize(
    "bad", [[1], *(pytest.param(bad, marks=pytest.mark.slow) for bad in ([57], [100], [2, 3, 99]))]
)
def test_a_line_at_which_a_reader_raises_is_quarantined_and_the_rest_loaded(bad, tmp_path, monkeypatch):
    monkeypatch.setattr(isolating, "MAX_LINES", 3)
    codes = [999 if line in bad else 79 for line in range(1, 101)]
    folder = make(tmp_path, {"c1/kernel/a.log": log(codes), "c1/kernel/b.log": log([48])})
    con, result = loaded(folder, raising_at(999))
    assert outcome(con) == [("c1/kernel/a.log", 100, 100 - len(bad), 0, len(bad)), ("c1/kernel/b.log", 1, 1, 0, 0)]
    kept = rows(con, "select path, line_number, reason, detail, raw from ops.quarantine order by line_number")
    assert [row["line_number"] for row in kept] == bad
    assert {row["reason"] for row in kept} == {"reader_error"}
    assert kept[0]["detail"] == "OverflowError: cannot be: PCI:0000:07:00): 999, pid=1, name=python"
    assert kept[0]["raw"] == log(codes).splitlines()[bad[0] - 1]
    assert len(result.warnings) == len(bad)
    assert result.warnings[0].startswith(f"c1/kernel/a.log, line {bad[0]}: quarantined, as the reader of kernel failed")


@pytest.mark.slow
def test_more_than_a_few_such_lines_are_no_log_of_this_kind(tmp_path, monkeypatch):
    monkeypatch.setattr(isolating, "MAX_LINES", 3)
    folder = make(tmp_path, {"c1/kernel/a.log": log([999] * 4), "c1/kernel/b.log": log([48])})
    con, result = loaded(folder, raising_at(999))
    assert outcome(con) == [("c1/kernel/a.log", 0, 0, 0, 0), ("c1/kernel/b.log", 1, 1, 0, 0)]
    refused = rows(con, "select status, reason from ops.files where path = 'c1/kernel/a.log'")[0]
    assert refused["status"] == "refused"
    assert refused["reason"].startswith("the reader failed on it (OverflowError: cannot be")
    assert result.warnings[0].startswith("not read: c1/kernel/a.log: the reader failed on it (OverflowError: cannot be")
    assert con.execute("select distinct path from raw.kernel_messages").fetchall() == [("c1/kernel/b.log",)]


@pytest.mark.parametrize(
    "step",
    [
        "select error('no such ' || line) from lines where line like '%999%'",
        "select cast(regexp_extract(line, ': (99+),', 1) as tinyint) from lines where line like '%: 999,%'",
    ],
)
def test_errors_of_duckdb_are_errors_of_a_line(step, tmp_path):
    folder = make(tmp_path, {"c1/kernel/a.log": log([79, 999, 48])})
    con, _ = loaded(folder, reader_that(f"create or replace temp table nothing as {step}"))
    assert outcome(con) == [("c1/kernel/a.log", 3, 2, 0, 1)]


@pytest.mark.parametrize("error", [TypeError, RecursionError, StopIteration])
def test_errors_of_every_kind(error, tmp_path):
    folder = make(tmp_path, {"c1/kernel/a.log": log([79, 999, 48])})
    con, _ = loaded(folder, raising_at(999, error=error))
    assert outcome(con) == [("c1/kernel/a.log", 3, 2, 0, 1)]


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


def test_a_file_read_whole_is_read_by_lines_when_that_fails(tmp_path, monkeypatch):
    """Accounting exports are mostly taken as they are; what their reader trips over is found by lines."""
    real = sacct.plan_reading

    def plan_reading(given: Batch) -> ReadingPlan:
        def trip(con: duckdb.DuckDBPyConnection) -> None:
            if (
                con.execute("from taken_files").fetchone()
                or con.execute("from lines where line like '%eve%'").fetchone()
            ):
                raise OverflowError("int too big to convert")

        plan = real(given)
        return replace(plan, prepare=[trip, *plan.prepare])

    monkeypatch.setattr(sacct, "plan_reading", plan_reading)
    jobs = [{"JobID": str(n), "User": "eve" if n == 7 else "bob"} for n in range(1, 10)]
    con = connect()
    load_results(make(tmp_path, {"c1/sacct/a.txt": export(jobs)}), con)
    assert outcome(con) == [("c1/sacct/a.txt", 10, 8, 1, 1)]
    assert rows(con, "select line_number, reason from ops.quarantine") == [{"line_number": 8, "reason": "reader_error"}]


def test_what_was_set_aside_is_the_same_in_a_second_load_and_in_a_changed_file(tmp_path):
    folder = make(tmp_path, {"c1/kernel/a.log": log([79, 999, 48])})
    reader = raising_at(999)
    con, _ = loaded(folder, reader)
    first = con.execute("from ops.quarantine").fetchall()
    loaded(folder, reader, con)
    assert con.execute("from ops.quarantine").fetchall() == first
    make(folder, {"c1/kernel/a.log": log([79, 48])})
    loaded(folder, reader, con)
    quarantined = con.execute("select path from ops.quarantine").fetchall()
    assert [path.startswith("c1/kernel/a.log@") for (path,) in quarantined] == [True], "the earlier version keeps it"
    assert outcome(con)[0] == ("c1/kernel/a.log", 2, 2, 0, 0)


def test_without_errors_nothing_is_loaded_twice(tmp_path, monkeypatch):
    calls = []
    real = batch.prove_every_line_accounted_for
    monkeypatch.setattr(batch, "prove_every_line_accounted_for", lambda *given: calls.append(1) or real(*given))
    folder = make(tmp_path, {f"c1/kernel/{n}.log": log([79]) for n in range(5)})
    loaded(folder, kernel)
    assert calls == [1]


def test_a_ticket_that_raises_in_python(tmp_path, monkeypatch):
    real = tickets.rows_of

    def trip(values, *given):
        if values["ticket_id"] == "T2":
            raise RuntimeError("boom")
        return real(values, *given)

    monkeypatch.setattr(tickets, "_TICKETS", replace(tickets._TICKETS, rows_of=trip))
    text = "ticket_id,node,opened\n" + "".join(f"T{n},n1,2024-05-0{n}\n" for n in range(1, 6))
    con, _ = loaded(make(tmp_path, {"c1/tickets/t.csv": text}), tickets)
    assert outcome(con) == [("c1/tickets/t.csv", 6, 4, 1, 1)]
    assert rows(con, "select line_number, detail from ops.quarantine") == [
        {"line_number": 3, "detail": "RuntimeError: boom"}
    ]


def test_a_file_for_which_memory_does_not_suffice_names_the_setting(tmp_path):
    folder = make(tmp_path, {"c1/kernel/k.log": log([13])})
    con = connect()
    load_results(folder, con, {"kernel": raising_at(13, error=duckdb.OutOfMemoryException)})
    ((status, next_step),) = con.execute("select status, next_step from ops.files").fetchall()
    assert (status, "FAULTLINE_MEMORY" in next_step) == ("refused", True)
