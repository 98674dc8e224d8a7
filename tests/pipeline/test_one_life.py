"""The same night by the command, the schedule, the sensor on new files and a button: its results are the same."""

import os
import re
import sqlite3
import subprocess
import time
from contextlib import closing
from functools import cache
from pathlib import Path

import dagster as dg
import pytest

from orchestration.definitions import build
from orchestration.lifecycle.session import Caller
from orchestration.publication.folders import current_publication, kept_publications
from orchestration.runs.instance import open_storage
from orchestration.sensors.new_files import Seen, fingerprint
from orchestration.settings.environment import read_settings
from orchestration.upkeep.lock import RefreshLock
from tests.homes import add_a_line, ask, copy_of
from tests.orchestration.alerts.receivers import web_server
from tests.pipeline.pages import CATALOGUE, FAULTLINE, STOP, Pages
from tests.published import content_of


@pytest.fixture(scope="module")
def web():
    """A receiver of the alerts of all nights."""
    with web_server() as web:
        yield web


@pytest.fixture(scope="module")
def make_home(testbed_home, tmp_path_factory, web):
    """Return a maker of homes before the night: with a new log, a cluster that cannot be built, and an old run."""

    def make(name):
        home = copy_of(testbed_home, tmp_path_factory.mktemp(name))
        home.lock_file.unlink()
        add_a_line(home)
        os.utime(home.sources / "testbed/kernel/extra-20261121.log", (1_764_000_000, 1_764_000_000))
        (home.sources / "b").mkdir()
        (home.sources / "b" / "cluster.toml").write_text('timezone = "Mars/Olympus"\n')
        with closing(sqlite3.connect(home.dagster / "history" / "runs.db")) as con, con:
            con.execute("update runs set create_timestamp = '2020-01-01 00:00:00'")
        return home

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAULTLINE_ALERT_WEBHOOK", web.address)
        yield make


def by_command(home):
    """Run the command."""
    return subprocess.run([FAULTLINE, "refresh", "--home", home.root], check=False).returncode == 0


def tick(home, by="schedule"):
    """Let the schedule, or the sensor on files that have not changed for long, start a run in this process."""
    definitions = build(read_settings(home.root), Caller(patience_seconds=0))
    with open_storage(home) as instance:
        if by == "schedule":
            ticked = definitions.resolve_schedule_def("nightly_refresh")
            (request,) = ticked.evaluate_tick(dg.build_schedule_context()).run_requests
        else:
            ticked = definitions.resolve_sensor_def("new_files")
            seen = Seen(fingerprint(home.sources), since=0).as_cursor()
            (request,) = ticked.evaluate_tick(dg.build_sensor_context(instance, cursor=seen)).run_requests
        result = definitions.resolve_job_def(ticked.job_name).execute_in_process(
            instance=instance, tags={f"dagster/{by}_name": ticked.name, **request.tags}, raise_on_error=False
        )
        failed = [event.step_failure_data.error.to_string() for event in result.all_events if event.is_step_failure]
        return result.success, [*failed, *(record.user_message for record in instance.all_logs(result.run_id))]


def by_button(home):
    """Launch a run in the web UI, after stopping another one."""
    pages = Pages(home)
    try:
        stopped = pages.launch()
        assert stop_when_it_works(pages, home, stopped) == "CANCELED"
        launched = pages.launch()
        is_success = pages.end_of(launched) == "SUCCESS"
        (seen,) = pages.ask(CATALOGUE)["assetOrError"]["assetMaterializations"]
        assert seen["runId"] == runs(home)[-1][0]
    finally:
        pages.process.terminate()
        pages.process.wait()
    with open_storage(home) as instance:
        assert instance.get_run_by_id(launched) is not None
    return is_success


def stop_when_it_works(pages, home, run_id):
    """Stop a run of the button while it has the lock; it ends without changes."""
    before = home.published_file.resolve()
    while not (home.lock_file.exists() and (holder := home.lock_file.read_text())):
        time.sleep(0.1)
    pages.ask(STOP % run_id)
    status = pages.end_of(run_id)
    while Path("/proc", holder).exists():
        time.sleep(0.1)
    with RefreshLock(home.lock_file):
        assert home.published_file.resolve() == before
    return status


def runs(home):
    """Return the runs of a home with their status, the newest last."""
    return ask(home.working_file, "select run_id, status, message, ended_at is null from ops.runs order by rowid")


def left(home, texts):
    """Return everything that people see of a night, without paths and values that differ between runs."""
    publications = kept_publications(home)
    failures = ask(home, "select cluster_id, stage, reason from ops.cluster_failures order by all")
    metrics = re.sub(r" [\d.e+-]+$", "", home.metrics.read_text(), flags=re.M).splitlines()
    with open_storage(home) as instance:
        is_pruned = instance.get_run_by_id(runs(home)[0][0]) is None
    return {
        "tables": content_of(home.published_file),
        "failures": [(cluster, stage, reason.replace(str(home.root), "")) for cluster, stage, reason in failures],
        "publications": [publication.number for publication in publications],
        "seen": current_publication(home).number,
        "link": (str(home.published_file.readlink()), str(home.report.parent.readlink())),
        "run": runs(home)[-1][1:],
        "is_the_run": current_publication(home).run_id == runs(home)[-1][0],
        "alerts": [text.replace(str(home.root), "") for text in texts],
        # The stopped run of the button is in none of them.
        "metrics": sorted(line for line in metrics if 'status="failed"' not in line),
        "is_pruned": is_pruned,
    }


NIGHTS = {
    "button": by_button,
    "command": by_command,
    "schedule": lambda home: tick(home)[0],
    "sensor": lambda home: tick(home, "sensor")[0],
}


@pytest.fixture(scope="module")
def night(make_home, web):
    """Return a function that returns the home, the results of the night, and its success, by who starts it."""

    @cache
    def night(name):
        home = make_home(name)
        before = len(web.texts)
        is_success = NIGHTS[name](home)
        return home, left(home, web.texts[before:]), is_success

    return night


def test_a_night_leaves_tables_a_publication_an_alert_and_no_old_run(night):
    _, found, is_success = night("schedule")
    assert is_success and found["run"] == ("succeeded", None, False)
    assert found["seen"] == 2 and found["is_the_run"] and found["is_pruned"]
    assert len(found["alerts"]) == 1 and "Mars/Olympus" in found["alerts"][0]


@pytest.mark.slow
@pytest.mark.parametrize("name", NIGHTS.keys() - {"schedule"})
def test_whoever_starts_it_the_same_is_left(night, name):
    expected = night("schedule")[1]
    _, found, is_success = night(name)
    assert is_success
    for what in expected:
        assert found[what] == expected[what], what


@pytest.mark.parametrize("by", ["schedule", "sensor"])
def test_where_nothing_is_new_a_run_that_nobody_asked_for_is_a_success_that_says_so(night, by):
    home = night("schedule")[0]
    before = runs(home), home.published_file.resolve()
    is_success, said = tick(home, by)
    assert is_success
    assert any(text.startswith("nothing is new") for text in said)
    assert (runs(home), home.published_file.resolve()) == before
