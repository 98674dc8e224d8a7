"""Whatever died, and however it did: the next run of the schedule starts, and publishes."""

import os
import signal
import sqlite3
import time
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from orchestration.runs.instance import open_storage
from orchestration.settings.home import Home
from orchestration.upkeep.lock import free_of_refresh
from tests.homes import add_a_line, ask, copy_of, faultline
from tests.patience import PATIENCE_SECONDS
from tests.pipeline.pages import Pages

DIED = "Run execution process for"
"""What Dagster's code server says of the process of a run."""


def until(is_so) -> None:
    """Wait for an event."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def history(home: Home, statement: str, *values: str) -> list[tuple]:
    """Change or read Dagster's runs behind its back."""
    with closing(sqlite3.connect(home.dagster / "history" / "runs.db", timeout=PATIENCE_SECONDS)) as con, con:
        return con.execute(statement, values).fetchall()


@contextmanager
def nothing_written_of_failures(home: Home):
    """Let Dagster not write that a run failed, as on a full disk."""
    refuse = "begin select raise(abort, 'database or disk is full'); end"
    history(home, f"create trigger full before update on runs when new.status = 'FAILURE' {refuse}")
    yield
    history(home, "drop trigger full")


def states(home: Home) -> list[str]:
    """The state of each run, the newest last; each of them has been as it is for long."""
    history(home, "update runs set update_timestamp = '2020-01-01 00:00:00'")
    return [state for (state,) in history(home, "select status from runs where id > 1 order by id")]


def holder(home: Home) -> int:
    """The process that has the home, or none."""
    with free_of_refresh(home.lock_file) as found:
        return 0 if found is None else int(found.process)


def processes(home: Home) -> list[int]:
    """All processes on a home: they have it in their environment, or among their words."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
        except OSError:
            continue
        if str(home.root).encode() in words and int(folder.name) != os.getpid():
            found.append(int(folder.name))
    return found


def cut_power(home: Home) -> None:
    """End all processes of a home; none notices the end of another."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for process in processes(home):
            os.kill(process, number)


@pytest.fixture
def home(testbed_home, tmp_path):
    """The capture's home with something new to read; nothing of it runs when the test has ended."""
    home = copy_of(testbed_home, tmp_path)
    add_a_line(home)
    yield home
    cut_power(home)


@pytest.mark.slow
def test_whatever_died_the_next_run_of_the_schedule_publishes(home):
    before = home.current.resolve()
    pages = Pages(home)
    with nothing_written_of_failures(home):
        killed = pages.launch()
        until(lambda: holder(home))
        os.kill(holder(home), signal.SIGKILL)
        with open_storage(home) as instance:
            until(lambda: any(DIED in record.message for record in instance.all_logs(killed)))
        pages.look()
        assert states(home) == ["STARTED"]
    pages.look()
    # Dagster starts a run again whose process died.
    until(lambda: states(home) == ["FAILURE", "STARTED"])
    until(lambda: holder(home))
    pages.look()
    assert states(home) == ["FAILURE", "STARTED"]
    cut_power(home)
    pages.process.wait()

    assert states(home) == ["FAILURE", "STARTED"]
    assert "queue      blocked" in faultline(home, "status").output
    pages = Pages(home)
    assert set(states(home)) == {"FAILURE"}
    assert pages.end_of(pages.launch()) == "SUCCESS"
    assert home.current.resolve() != before
    assert ask(home, "select status from ops.runs order by rowid desc limit 1") == [("succeeded",)]
    assert "blocked" not in faultline(home, "status").output
