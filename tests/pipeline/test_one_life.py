"""The same night by the command and by a button of the web UI: what is left of it is the same.

Dagster's own events differ: the button has a run of its own, whose only step runs the command. The schedule starts the
job of the button.
"""

import json
import os
import re
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import dagster as dg
import duckdb
import pytest

from orchestration import jobs
from orchestration.definitions import build
from orchestration.environment import HomeSettings, read_settings
from orchestration.home import Home
from orchestration.instance import open_storage
from orchestration.upkeep.lock import RefreshLock
from tests.homes import add_a_line, copy_of
from tests.orchestration.alerts.receivers import web_server
from tests.pipeline.pages import CATALOGUE, FAULTLINE, SELECTOR, STOP, Pages
from tests.published import content_of


@pytest.fixture(scope="module")
def web():
    with web_server() as web:
        yield web


@pytest.fixture(scope="module")
def make_home(testbed_home, tmp_path_factory, web):
    """Make a home before the night: a log is new, a second cluster cannot be built, and an old run can be deleted."""

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
    return subprocess.run([FAULTLINE, "refresh", "--home", home.root], check=False).returncode == 0


def tick(home):
    """Let the schedule start a run in this process, as the daemon does in another."""
    definitions = build(read_settings(home.root))
    schedule = definitions.resolve_schedule_def("nightly_refresh")
    assert f'jobName: "{schedule.job_name}"' in SELECTOR
    (request,) = schedule.evaluate_tick(dg.build_schedule_context()).run_requests
    with open_storage(home) as instance:
        job = definitions.resolve_job_def(schedule.job_name)
        result = job.execute_in_process(instance=instance, tags=request.tags, raise_on_error=False)
        return result.success, [record.user_message for record in instance.all_logs(result.run_id)]


def by_button(home):
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
        said = [record.user_message for record in instance.all_logs(launched)]
    assert any(" raw " in line for line in said), said
    return is_success


def stop_when_it_works(pages, home, run_id):
    """Stop a run of the button while its command has the lock; the command ends, and has changed nothing."""
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
    with duckdb.connect(str(home.working_file), read_only=True) as con:
        return con.execute("select run_id, status, message, ended_at is null from ops.runs order by rowid").fetchall()


def left(home, texts):
    """Everything that people see of a night."""
    publications = {path.name: json.loads((path / "publication.json").read_text()) for path in folders(home)}
    with duckdb.connect(str(home.published_file), read_only=True) as con:
        failures = con.execute("select cluster_id, stage, reason from ops.cluster_failures order by all").fetchall()
    with open_storage(home) as instance:
        is_pruned = instance.get_run_by_id(runs(home)[0][0]) is None
    return {
        "tables": content_of(home.published_file),
        "failures": [(cluster, stage, reason.replace(str(home.root), "")) for cluster, stage, reason in failures],
        "publications": sorted(found["number"] for found in publications.values()),
        "seen": publications[home.current.resolve().name]["number"],
        "link": (str(home.published_file.readlink()), str(home.report.parent.readlink())),
        "run": runs(home)[-1][1:],
        "is_the_run": publications[home.current.resolve().name]["run_id"] == runs(home)[-1][0],
        "alerts": [text.replace(str(home.root), "") for text in texts],
        "metrics": re.sub(r" [\d.e+-]+$", "", home.metrics.read_text(), flags=re.M),
        "is_pruned": is_pruned,
    }


def folders(home):
    return [path for path in home.publications.iterdir() if path.is_dir() and not path.is_symlink()]


@pytest.fixture(scope="module")
def nights(make_home, web):
    found = {}
    for by in (by_button, by_command):
        home = make_home(by.__name__)
        before = len(web.texts)
        is_success = by(home)
        found[by.__name__] = (home, left(home, web.texts[before:]), is_success)
    return found


def test_whoever_starts_it_the_same_is_left(nights):
    expected = nights["by_command"][1]
    assert expected["run"] == ("succeeded", None, False)
    assert expected["seen"] == 2 and expected["is_the_run"] and expected["is_pruned"]
    assert len(expected["alerts"]) == 1 and "Mars/Olympus" in expected["alerts"][0]
    for name, (_, found, is_success) in nights.items():
        assert is_success, name
        assert {what for what in expected if found[what] != expected[what]} == set(), name


def test_where_nothing_is_new_the_run_of_the_schedule_is_a_success_that_says_so(nights):
    home = nights["by_command"][0]
    before = runs(home), home.published_file.resolve()
    is_success, said = tick(home)
    assert is_success
    assert any(text.startswith("nothing is new") for text in said)
    assert (runs(home), home.published_file.resolve()) == before


def test_the_run_fails_with_the_words_of_the_command(nights):
    home = nights["by_command"][0]
    with RefreshLock(home.lock_file):
        is_success, said = tick(home)
    assert not is_success
    assert any(f"a refresh of {home.root} is already running" in text for text in said)


@pytest.fixture
def options(tmp_path, monkeypatch):
    """Run jobs with a command that writes its options down, and fails without a word."""
    file = tmp_path / "options"
    monkeypatch.setattr(jobs, "COMMAND", ("sh", "-c", f'echo "$@" >> {file}; exit 3', "sh"))

    def options(job, **tags):
        found = {made.name: made for made in jobs.refresh_jobs(HomeSettings(Home.at(tmp_path)))}[job]
        result = found.execute_in_process(tags=tags, raise_on_error=False)
        (failure,) = [event.step_failure_data for event in result.all_events if event.is_step_failure]
        assert not failure.user_failure_data.metadata[jobs.ENDED_BY_ITSELF].value
        assert "ended with status 3" in failure.user_failure_data.description
        return file.read_text().splitlines()[-1]

    return options


def test_a_job_or_a_tag_rebuilds_all(options):
    assert options("refresh") == ""
    assert options("full_refresh") == "--full"
    assert options("refresh", **{jobs.FULL: "true"}) == "--full"
    assert options("refresh", **{jobs.FULL: "false"}) == ""
