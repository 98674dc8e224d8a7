"""The sensor starts one refresh when new files no longer change, and opens no file before."""

import os

import dagster as dg
import pytest

from orchestration.sensors import new_files as module
from orchestration.sensors.new_files import Seen, new_files
from orchestration.settings.environment import HomeSettings
from orchestration.settings.home import Home
from orchestration.upkeep.lock import RefreshLock


@pytest.fixture
def home(tmp_path):
    home = Home.at(tmp_path / "home")
    (home.sources / "alpha" / "sacct").mkdir(parents=True)
    home.work.mkdir()
    return home


class Ticks:
    """A sensor with its cursor; the test chooses the moments of its ticks."""

    def __init__(self, home, monkeypatch):
        self.now = 1_000_000.0
        monkeypatch.setattr(module.time, "time", lambda: self.now)
        self.instance = dg.DagsterInstance.ephemeral()
        self.sensor = new_files(HomeSettings(home))
        self.cursor = None

    def __call__(self, minutes=1):
        self.now += 60 * minutes
        found = self.sensor.evaluate_tick(dg.build_sensor_context(instance=self.instance, cursor=self.cursor))
        self.cursor = found.cursor
        return found.run_requests or found.skip_message


@pytest.fixture
def tick(home, monkeypatch):
    return Ticks(home, monkeypatch)


def add(home, text="JobID|State\n", name="new.psv"):
    file = home.sources / "alpha" / "sacct" / name
    with file.open("a") as stream:
        stream.write(text)
    return file


def test_new_files_start_one_run_when_they_are_still(home, tick):
    add(home)
    assert tick() == "files have changed; waiting until they are still"
    assert "still changing 240 s ago" in tick(4)
    assert len(tick(1)) == 1
    assert tick() == tick(600) == "no file has changed since the last look"


def test_a_copy_with_the_time_of_its_original_and_a_clock_that_is_wrong_do_not_matter(home, tick):
    for moment in (1.0, 4e9):
        os.utime(add(home, name=f"{moment}.psv"), (moment, moment))
        tick()
        assert len(tick(5)) == 1


def test_one_run_at_a_time_whoever_started_it(home, tick):
    add(home)
    tick()
    with RefreshLock(home.lock_file):
        assert tick(5) == "another run is in progress"
    run = dg.DagsterRun(job_name="refresh", run_id="1", status=dg.DagsterRunStatus.STARTED)
    tick.instance.add_run(run)
    assert tick(5) == "another run is in progress"
    tick.instance.delete_run("1")
    assert len(tick(5)) == 1


def test_a_removed_file_is_news_and_a_hidden_one_is_not(home, tick):
    file = add(home)
    tick()
    tick(5)
    add(home, name=".new.psv.Xy3k2")
    assert tick() == "no file has changed since the last look"
    file.unlink()
    tick()
    assert len(tick(5)) == 1


@pytest.mark.parametrize(
    ("cursor", "seen"),
    [*((text, Seen()) for text in (None, "", "garbage", "[]", '{"unknown": 1}')),
     (Seen("abc", 12.5, True).as_cursor(), Seen("abc", 12.5, True))],
)  # fmt: skip
def test_a_cursor_is_read_back_and_one_of_another_version_is_as_none(cursor, seen):
    assert Seen.parse(cursor) == seen
