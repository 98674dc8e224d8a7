"""The lock of a home: a second refresh touches no file of the first, and the error names the holder."""

import os
import pwd
import re
import sys

import pytest
from rich.console import Console

from orchestration.refresh import run as refreshing
from orchestration.settings.environment import HomeSettings
from orchestration.settings.home import Home
from orchestration.upkeep.lock import RefreshLock, RefreshRunning
from tests.homes import held_lock


def test_the_lock_names_its_holder_and_dies_with_it(tmp_path):
    home = Home.at(tmp_path)
    with held_lock(home) as holder, pytest.raises(RefreshRunning) as refused:
        RefreshLock(home.lock_file).acquire()
    user, moment = pwd.getpwuid(os.geteuid()).pw_name, r"20\d\d-\d\d-\d\d \d\d:\d\d UTC"
    expected = rf"\(process {holder.pid} of {user} since {moment}: {re.escape(sys.executable)} -c "
    assert re.search(expected, str(refused.value))
    with RefreshLock(home.lock_file):
        pass


def test_the_second_refresh_loads_nothing_and_writes_nothing(tmp_path, monkeypatch):
    home = Home.at(tmp_path / "home")
    (home.sources / "c1").mkdir(parents=True)
    home.work.mkdir()
    monkeypatch.setattr(refreshing, "_execute", lambda *_: pytest.fail("a run was begun"))
    with RefreshLock(home.lock_file):
        before = {path: path.stat().st_mtime_ns for path in home.root.rglob("*")}
        with pytest.raises(refreshing.RefreshFailed, match="already running") as refused:
            refreshing.run_refresh(HomeSettings(home, is_full=True), Console())
        assert {path: path.stat().st_mtime_ns for path in home.root.rglob("*")} == before
    assert not refused.value.is_alert
