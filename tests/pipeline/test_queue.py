"""Whatever process died, Dagster starts the run again, and after a power cut the next scheduled run publishes."""

import os
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from orchestration.settings.home import Home
from orchestration.upkeep.lock import free_of_refresh
from tests.homes import add_a_line, ask, copy_of, faultline
from tests.patience import PATIENCE_SECONDS
from tests.pipeline.pages import Pages

pytestmark = pytest.mark.slow


def until(is_so) -> None:
    """Wait for an event."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def states(home: Home) -> list[str]:
    """Return the state of each run, the newest last, and date each state far back."""
    with closing(sqlite3.connect(home.dagster / "history" / "runs.db", timeout=PATIENCE_SECONDS)) as con, con:
        con.execute("update runs set update_timestamp = '2020-01-01 00:00:00'")
        return [state for (state,) in con.execute("select status from runs where id > 1 order by id")]


def holder(home: Home) -> int:
    """Return the process that holds the home's lock, or none before it has written its number."""
    with free_of_refresh(home.lock_file) as found:
        return int(found.process) if found and found.process.isdecimal() else 0


def cut_power(home: Home) -> None:
    """Kill all processes with a home in their environment or arguments; none notices another's end."""
    processes = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
        except OSError:
            continue
        if str(home.root).encode() in words and int(folder.name) != os.getpid():
            processes.append(int(folder.name))
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for process in processes:
            os.kill(process, number)


@pytest.fixture
def home(testbed_home, tmp_path):
    """The capture's home with something new to read; its processes end with the test."""
    home = copy_of(testbed_home, tmp_path)
    add_a_line(home)
    yield home
    cut_power(home)


def test_whatever_died_the_next_run_of_the_schedule_publishes(home):
    before = home.current.resolve()
    pages = Pages(home)
    pages.launch()
    until(lambda: holder(home))
    os.kill(holder(home), signal.SIGKILL)
    until(lambda: states(home) == ["FAILURE", "STARTED"])
    until(lambda: holder(home) and home.unfinished_run.exists())
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
