"""One refresh at a time, and a row in ops.runs for each: the resource that opens and closes a run.

It writes the run's row when the run starts and closes it however the run ends, so that a failed or killed run is
visible to `faultline status`. It refuses to start while another refresh holds the home.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

import dagster as dg
import duckdb
from pydantic import PrivateAttr

from assets.warehouse import Warehouse
from orchestration.home import Home, code_version
from orchestration.publication_folders import remove_leftovers, was_published


class RefreshRunning(RuntimeError):
    """Another process is refreshing this home."""


class RefreshLock:
    """An advisory lock on a file; the kernel drops it when the process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: TextIO | None = None

    def acquire(self) -> None:
        """Take the lock or raise `RefreshRunning` with the holder's process id.

        `faultline status` holds it for milliseconds, so a taken lock is asked for again for two seconds.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = self.path.open("a+")
        deadline = time.monotonic() + 2
        while not _locked(file) and time.monotonic() < deadline:
            time.sleep(0.05)
        if not _locked(file):
            file.seek(0)
            holder = file.read().strip() or "unknown"
            file.close()
            raise RefreshRunning(
                f"a refresh of {self.path.parent.parent} is already running (process {holder}); "
                "wait for it to end, or stop that process, then run `faultline refresh` again"
            )
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self._file = file

    def release(self) -> None:
        """Give the lock back; harmless when it was never taken."""
        if self._file is not None:
            self._file.close()
            self._file = None


def wait_until_free(working_file: Path, patience_seconds: float) -> None:
    """Wait until no process holds the working file.

    A refresh that was killed may leave its dbt process behind, which ends by itself; raise `RefreshRunning` with that
    process's id when it does not end in time.
    """
    deadline = time.monotonic() + patience_seconds
    while working_file.exists():
        try:
            duckdb.connect(str(working_file)).close()
        except duckdb.IOException as error:
            holder = re.search(r"PID (\d+)", str(error))
            if holder is None:
                raise
            if time.monotonic() > deadline:
                raise RefreshRunning(
                    f"process {holder[1]} still holds {working_file}, perhaps left by a refresh that was killed; "
                    "wait for it to end, or stop it, then run `faultline refresh` again"
                ) from None
            time.sleep(0.5)
        else:
            return


class RefreshSession(dg.ConfigurableResource):
    """Holds the lock and the run's row in ops.runs from the first step to the last.

    Attributes
    ----------
    working_file, lock_file
        Absolute paths.
    home
        Absolute path of the home; empty where there is none, so that there are no publications to look after.
    patience_seconds
        How long to wait for what a killed refresh has left running.
    """

    working_file: str
    lock_file: str
    home: str = ""
    patience_seconds: float = 600
    _lock: RefreshLock | None = PrivateAttr(default=None)

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """Take the lock and open the run's row; put in order what a refresh that was killed has left."""
        lock = RefreshLock(Path(self.lock_file))
        lock.acquire()
        self._lock = lock
        wait_until_free(Path(self.working_file), self.patience_seconds)
        with Warehouse(path=self.working_file).writing() as con:
            if self.home:
                home = Home.at(Path(self.home))
                remove_leftovers(home)
                take_back_what_was_not_published(con, home)
            con.execute(
                "update ops.runs set status = 'failed', ended_at = started_at, message = 'stopped without an end'"
                " where status = 'running'"
            )
            con.execute(
                "insert into ops.runs values (?, ?, null, 'running', ?, null)",
                [_run_id(context), _now(), code_version()],
            )

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:
        """Close a row that publication did not close, then let the next refresh in."""
        try:
            with Warehouse(path=self.working_file).writing() as con:
                con.execute(
                    "update ops.runs set status = 'failed', ended_at = ? where run_id = ? and status = 'running'",
                    [_now(), _run_id(context)],
                )
        finally:
            if self._lock is not None:
                self._lock.release()


def take_back_what_was_not_published(con: duckdb.DuckDBPyConnection, home: Home) -> None:
    """Correct the account of a run that was killed between its last row here and the step that readers see."""
    last = con.execute("select run_id from ops.published order by rowid desc limit 1").fetchone()
    if last is None or was_published(home, last[0]):
        return
    con.execute(
        "update ops.runs set status = 'failed', message = 'stopped before its publication was finished'"
        " where run_id = ?",
        [last[0]],
    )
    con.execute("delete from ops.published where run_id = ?", [last[0]])


def _locked(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _run_id(context: dg.InitResourceContext) -> str:
    return context.run.run_id if context.run else "no-run"


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
