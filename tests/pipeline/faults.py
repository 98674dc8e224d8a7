"""Numbered points of the step that publishes, each of which can be made to kill the process or to fail.

`python -m tests.pipeline.faults TEMPLATE SCRATCH EVERY FIRST` publishes a second run over a small home, once for every
n-th point and kind of fault, publishes a third one after it, and prints what readers saw as lines of JSON. Python tells
of each opened file and changed name by its audit events, so that nothing is patched but `os.fsync`. Each attempt is a
fork of one process, because a new one would take longer than all that it does. What DuckDB writes is not seen here; see
`test_faults.py`, which watches `python -m tests.pipeline.faults publish HOME RUN` by strace.
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
from pathlib import Path

import duckdb

from assets.warehouse import Warehouse
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
        """Begin to count; a process can do so once."""
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


def prepare(home: Home) -> None:
    """Make a small home with one publication, and everything a second run has built."""
    page = home.working_reports / "latest" / "index.html"
    page.parent.mkdir(parents=True)
    run(home, "run-1")


def run(home: Home, run_id: str, points: Points | None = None) -> None:
    """Do what the session and the last step of a refresh do."""
    warehouse = Warehouse(path=str(home.working_file), publication=str(home.build_file))
    with warehouse.writing() as con:
        mark_unpublished_run_as_failed(con, home)
        con.execute("insert into ops.runs values (?, now()::timestamp, null, 'running', 'v', null)", [run_id])
        con.execute("create or replace table publication.marts.t as select ? as run_id", [run_id])
    (home.working_reports / "latest" / "index.html").write_text(run_id)
    if points is not None:
        points.is_on = True
    try:
        publish_run(warehouse, home, run_id, keep=1)
    finally:
        if points is not None:
            points.is_on = False


def seen(home: Home) -> dict[str, object]:
    """Tell what readers see, and what the working file says of it."""
    with duckdb.connect(str(home.published_file), read_only=True) as con:
        warehouse = con.execute("select run_id from marts.t").fetchone()[0]
        account = con.execute("select run_id, status from ops.runs order by rowid desc limit 1").fetchone()
    return {"warehouse": warehouse, "report": home.report.read_text(), "account": list(account)}


def in_a_fork(do: object) -> tuple[int, str]:
    """Run a function in a process of its own; return how it ended, and what it returned."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        code = 0
        try:
            os.write(writer, json.dumps(do()).encode())
        except Exception:  # noqa: BLE001 - whatever it was, the other process tells it
            os.write(writer, json.dumps(traceback.format_exc()).encode())
            code = 1
        os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        text = pipe.read().decode()
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), text


def attempt(home: Home, points: Points, at: int | None, kind: str) -> dict[str, object]:
    """Publish with one fault, look, publish again without any, look again."""
    points.at, points.kind = at, kind

    def faulty() -> list[str]:
        points.watch()
        run(home, "run-2", points)
        return points.passed

    code, text = in_a_fork(faulty)
    after = in_a_fork(lambda: seen(home))
    again = in_a_fork(lambda: run(home, "run-3"))
    at_last = in_a_fork(lambda: seen(home))
    left = in_a_fork(lambda: [str(path) for path in leftovers(home)])
    return {
        "at": at, "kind": kind, "code": code, "operations": json.loads(text) if text else None,
        "after": after, "again": again, "at_last": at_last, "left": left,
        "publications": sorted(path.name for path in home.publications.iterdir()),
    }  # fmt: skip


def main(template: Path, scratch: Path, every: int, first: int) -> None:
    """Try one of so many points, beginning at some point, with each kind of fault."""
    # DuckDB loads it for the first parameter of a statement, which would take each fork longer than all else it does.
    importlib.import_module("pandas")
    gc.freeze()
    assert in_a_fork(lambda: prepare(Home.at(template)))[0] == 0
    home = Home.at(scratch)
    points = Points(home)

    def tell(at: int | None, kind: str) -> dict[str, object]:
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(template, scratch, symlinks=True)
        found = attempt(home, points, at, kind)
        sys.stdout.write(json.dumps(found) + "\n")
        return found

    names = tell(None, KINDS[0])["operations"]
    for kind in KINDS:
        for at in range(1 + first % every, len(names) + 1, every):
            tell(at, kind)


def publish_once(root: Path, run_id: str) -> None:
    """Publish one run, for another program to watch; begin with a new home where there is none."""
    home = Home.at(root)
    if home.published_file.exists():
        run(home, run_id)
    else:
        prepare(home)
    sys.stdout.write(json.dumps(seen(home)) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "publish":
        publish_once(Path(sys.argv[2]), sys.argv[3])
    else:
        main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
