"""The lock of a home: a second refresh touches no file of the first, however close together they start."""

import json
import os
import pwd
import random
import re
import subprocess
import sys
import time

import pytest
from rich.console import Console

from orchestration.environment import HomeSettings
from orchestration.home import Home
from orchestration.refresh import run as refreshing
from orchestration.upkeep.lock import RefreshLock, RefreshRunning
from tests.homes import held_lock


def test_the_lock_names_its_holder_and_dies_with_it(tmp_path):
    home = Home.at(tmp_path)
    with held_lock(home) as holder, pytest.raises(RefreshRunning) as refused:
        RefreshLock(home.lock_file).acquire()
    user, moment = pwd.getpwuid(os.geteuid()).pw_name, r"20\d\d-\d\d-\d\d \d\d:\d\d UTC"
    expected = rf"\(process {holder.pid} of {user} since {moment}: {re.escape(sys.executable)} -c "
    assert re.search(expected, str(refused.value))
    lock = RefreshLock(home.lock_file)
    lock.acquire()
    lock.release()


def files_of(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_the_second_refresh_opens_and_writes_nothing(tmp_path, monkeypatch):
    home = Home.at(tmp_path / "home")
    touched = []
    for name in ("is_up_to_date", "_execute", "read_outcome", "note_failure"):
        monkeypatch.setattr(refreshing, name, lambda *_, name=name, **__: touched.append(name))
    lock = RefreshLock(home.lock_file)
    lock.acquire()
    before = files_of(home.root)
    with pytest.raises(refreshing.RefreshFailed, match="already running"):
        refreshing.run_refresh(HomeSettings(home, is_full=True), Console())
    assert files_of(home.root) == before
    assert touched == []
    lock.release()


def test_the_lock_is_held_from_before_the_first_look_until_after_the_last(tmp_path, monkeypatch):
    home = Home.at(tmp_path / "home")
    (home.sources / "c1").mkdir(parents=True)
    refused = []

    def look(*_):
        with pytest.raises(RefreshRunning):
            RefreshLock(home.lock_file).acquire()
        refused.append(True)
        return True

    monkeypatch.setattr("orchestration.upkeep.lock.PATIENCE_SECONDS", 0)
    monkeypatch.setattr(refreshing, "is_up_to_date", look)
    monkeypatch.setattr(refreshing, "tell_of_publication", look)
    monkeypatch.setattr(refreshing, "read_outcome", look)
    refreshing.run_refresh(HomeSettings(home), Console())
    assert refused == [True, True, True]
    lock = RefreshLock(home.lock_file)
    lock.acquire()
    lock.release()


ONE_OF_TWO = """
import sys, time
from pathlib import Path
from types import SimpleNamespace
from rich.console import Console
from orchestration.refresh import run as refreshing
from orchestration.environment import HomeSettings
from orchestration.home import Home

home, stay = Home.at(Path(sys.argv[1])), float(sys.argv[2])

def work(settings, console):
    (home.work / "inside").mkdir()
    time.sleep(stay)
    (home.work / "inside").rmdir()
    with (home.work / "done").open("a") as file:
        file.write("x")
    return SimpleNamespace(success=True)

refreshing.is_up_to_date = lambda home: False
refreshing._prepare = lambda home, say: None
refreshing.tell_of_publication = refreshing.keep_metrics = lambda settings, say: None
refreshing.warnings_of_report = lambda result: 0
refreshing._execute = work
refreshing.read_outcome = lambda *_: SimpleNamespace(checks={"warned": 0})
try:
    refreshing.run_refresh(HomeSettings(home), Console())
except refreshing.RefreshFailed as error:
    print(error)
    raise SystemExit(3)
"""


@pytest.mark.slow
def test_of_two_refreshes_at_random_delays_none_is_lost(tmp_path):
    """Fifty pairs of processes: the one with the lock succeeds, and no two ever hold it at once."""
    rng, ends = random.Random(7), []
    for number in range(50):
        root = tmp_path / str(number)
        (root / "sources" / "c1").mkdir(parents=True)
        stay = rng.uniform(0, 3)
        command = [sys.executable, "-c", ONE_OF_TWO, str(root), str(stay)]
        first = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        time.sleep(rng.uniform(0, 1.5))
        second = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = [process.communicate()[0] for process in (first, second)]
        codes = (first.returncode, second.returncode)
        assert set(codes) <= {0, 3}, said
        assert all("already running" in text for text, code in zip(said, codes, strict=True) if code == 3), said
        assert 0 in codes
        assert (root / "work" / "done").read_text() == "x" * codes.count(0)
        assert not (root / "work" / "inside").exists()
        ends.append(codes)
    assert len(set(ends)) > 1, json.dumps(ends)
