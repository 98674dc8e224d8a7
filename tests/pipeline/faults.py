"""Numbered points of the publishing step, at each a fault can kill the process or fail a call.

`python -m tests.pipeline.faults TEMPLATE SCRATCH EVERY FIRST` publishes a second run over a small home, once for every
n-th point and kind of fault, and then a third one. It fails if readers saw anything except one run or the other, and
prints how the faults ended. Python's audit events report each opened file and changed name, so that only `os.fsync` is
patched. Each attempt is a fork of one process, because starting a new one would take longer than the attempt. DuckDB's
own writes are not seen here; `test_harm.py` watches whole refreshes by strace.
"""

from __future__ import annotations

import errno
import gc
import importlib
import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from assets.warehouse import Warehouse, one_value
from orchestration.lifecycle.session import mark_unpublished_run_as_failed
from orchestration.publication.folders import leftovers
from orchestration.publication.publish import publish_run
from orchestration.settings.home import Home

KINDS = ("kill", "EIO", "ENOSPC")
CHANGES = {"os.rename", "os.mkdir", "os.symlink", "os.link", "os.remove", "os.rmdir", "os.chmod", "shutil.copyfile"}
WRITING = os.O_WRONLY | os.O_RDWR
_ALWAYS_SUCCEED = {"os.remove", "os.rmdir", "os.chmod"}
"""No disk is too full for these."""


class Points:
    """Counts the points that a process passes, and does something at one of them."""

    def __init__(self, home: Home) -> None:
        self.root = str(home.root)
        self.passed: list[str] = []
        self.at: int | None = None
        self.kind = "kill"
        self.is_on = False

    def watch(self) -> None:
        """Start to count; a process can do this once."""
        sys.addaudithook(self._hear)
        flush = os.fsync

        def fsync(descriptor: int) -> None:
            self._pass("os.fsync")
            flush(descriptor)

        os.fsync = fsync

    def _hear(self, event: str, arguments: tuple) -> None:
        is_write = event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING
        if self.is_on and (event in CHANGES or is_write) and any(self.root in str(argument) for argument in arguments):
            self._pass(event)

    def _pass(self, name: str) -> None:
        if not self.is_on:
            return
        self.passed.append(name)
        if self.at != len(self.passed) or (self.kind == "ENOSPC" and name in _ALWAYS_SUCCEED):
            return
        self.is_on = False
        if self.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        number = getattr(errno, self.kind)
        self.is_on = True
        raise OSError(number, os.strerror(number))


def run(home: Home, run_id: str, points: Points | None = None) -> list[str]:
    """Run the session and the last step of a refresh; return the passed points."""
    points = points or Points(home)
    warehouse = Warehouse(path=str(home.working_file), publication=str(home.build_file))
    with warehouse.writing() as con:
        mark_unpublished_run_as_failed(con, home)
        con.execute("insert into ops.runs values (?, now()::timestamp, null, 'running', 'v', null)", [run_id])
        con.execute("create or replace table publication.marts.t as select ? as run_id", [run_id])
    page = home.working_reports / "latest" / "index.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(run_id)
    points.is_on = True
    try:
        publish_run(warehouse, home, run_id, keep=1)
    finally:
        points.is_on = False
    return points.passed


def seen(home: Home) -> list[str]:
    """List what readers see: the run of the warehouse, of the report, in `ops.runs`, and that run's status."""
    with duckdb.connect(str(home.published_file), read_only=True) as con:
        warehouse = one_value(con, "select run_id from marts.t")
        account = con.execute("select run_id, status from ops.runs order by rowid desc limit 1").fetchone()
    return [warehouse, home.report.read_text(), *account]


def whole(run_id: str) -> list[str]:
    """Return what readers see of a completely published run."""
    return [run_id, run_id, run_id, "succeeded"]


def in_a_fork(do: Callable[[], object]) -> tuple[int, Any]:
    """Run a function in a fork; return its exit code, and its result or traceback."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        code = 0
        try:
            os.write(writer, json.dumps(do()).encode())
        except Exception:  # noqa: BLE001 - the parent process reports it
            os.write(writer, json.dumps(traceback.format_exc()).encode())
            code = 1
        os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        text = pipe.read().decode()
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), json.loads(text) if text else None


def attempt(home: Home, points: Points, at: int | None, kind: str) -> tuple[int, str, list[str]]:
    """Publish with one fault, then without; return the exit code, the run seen in between and the passed points.

    Readers see one of both runs completely, and the next run leaves nothing behind.
    """
    points.at, points.kind = at, kind

    def faulty() -> list[str]:
        points.watch()
        return run(home, "run-2", points)

    code, passed = in_a_fork(faulty)
    _, after = in_a_fork(lambda: seen(home))
    where = f"{kind} at {at}: {code}, {passed}, {after}"
    assert after in (whole("run-1"), whole("run-2")), where
    assert code != 0 or after == whole("run-2"), where
    assert in_a_fork(lambda: run(home, "run-3"))[0] == 0, where
    assert in_a_fork(lambda: seen(home))[1] == whole("run-3"), where
    assert in_a_fork(lambda: list(map(str, leftovers(home))))[1] == [], where
    assert sorted(path.name for path in home.publications.iterdir()) == ["current", "run-3"], where
    return code, after[0], passed


def main(template: Path, scratch: Path, every: int, first: int) -> None:
    """Try every n-th point, starting at the first one given, with each kind of fault."""
    # DuckDB loads it for the first parameter of a statement; in each fork that would take longer than everything else.
    importlib.import_module("pandas")
    gc.freeze()
    assert in_a_fork(lambda: run(Home.at(template), "run-1"))[0] == 0
    home = Home.at(scratch)
    points = Points(home)

    def on_a_copy(at: int | None, kind: str) -> tuple[int, str, list[str]]:
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(template, scratch, symlinks=True)
        return attempt(home, points, at, kind)

    _, _, passed = on_a_copy(None, KINDS[0])
    ends = [on_a_copy(at, kind)[:2] for kind in KINDS for at in range(1 + first % every, len(passed) + 1, every)]
    sys.stdout.write(json.dumps({"points": len(passed), "ends": ends}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
