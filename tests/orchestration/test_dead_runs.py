"""Runs with a dead process are marked as failed as soon as that is certain, and no other run is."""

import resource
from contextlib import nullcontext
from datetime import timedelta
from functools import partial

import dagster as dg
import pytest
from sqlalchemy.exc import OperationalError

from orchestration.refresh.run import run_refresh
from orchestration.runs.dead_runs import REASON, end_dead_runs, end_runs_of_commands
from orchestration.runs.jobs import COMMAND, REFRESH, refresh_job
from orchestration.runs.refresh_errors import RefreshFailed, explain_events
from orchestration.sensors import alerting
from orchestration.settings.environment import HomeSettings
from orchestration.settings.home import Home
from orchestration.terminal.output import console
from tests.homes import faultline, held_lock

DAEMON, CHOSEN = "daemon", "__ASSET_JOB"
BEGUN = ("NOT_STARTED", "STARTING", "STARTED", "CANCELING")
OTHERS = ("SUCCESS", "FAILURE", "CANCELED")
TAGS = {COMMAND: {COMMAND: "true"}, DAEMON: {}, CHOSEN: {}}


@pytest.fixture
def home(tmp_path):
    home = Home.at(tmp_path / "home")
    home.work.mkdir(parents=True)
    home.unfinished_run.write_text("run-7")
    return home


@pytest.fixture
def instance():
    """A history with a run of each kind in each state."""
    with dg.DagsterInstance.ephemeral() as instance:
        for kind, tags in TAGS.items():
            for status in (*BEGUN, *OTHERS):
                job, state = CHOSEN if kind == CHOSEN else REFRESH, dg.DagsterRunStatus(status)
                instance.add_run(dg.DagsterRun(job, f"{kind} {status}", status=state, tags=tags))
        yield instance


def look(instance, home):
    sensor = alerting.alerting_sensors(HomeSettings(home), refresh_job())[1]
    sensor.evaluate_tick(dg.build_sensor_context(instance=instance))


@pytest.mark.parametrize(
    ("by", "is_refreshing", "at_work", "seconds", "kinds"),
    [
        (end_runs_of_commands, False, 0, 0, {COMMAND}),
        (end_dead_runs, False, 0, 0, {COMMAND, DAEMON, CHOSEN}),
        (end_dead_runs, True, 0, 0, {DAEMON, CHOSEN}),
        (look, False, 0, 600, set()),
        (look, False, 0, 0, {COMMAND, DAEMON, CHOSEN}),
        (look, True, 0, 0, {DAEMON, CHOSEN}),
        (look, False, 1, 0, set()),
    ],
    ids=["refresh", "ui", "ui during a refresh", "sensor at once", "sensor", "sensor during a refresh",
         "sensor during a run of the daemon"],
)  # fmt: skip
def test_runs_of_some_kinds_end_whatever_they_had_begun(
    instance, home, monkeypatch, by, is_refreshing, at_work, seconds, kinds
):
    monkeypatch.setattr(alerting, "active_children", lambda: [None] * at_work)
    monkeypatch.setattr(alerting, "TIME_TO_START", timedelta(seconds=seconds))
    before = {run.run_id: run.status for run in instance.get_runs()}
    with held_lock(home) if is_refreshing else nullcontext():
        by(instance, home)
    changed = {run_id for run_id, status in before.items() if instance.get_run_by_id(run_id).status != status}
    assert changed == {f"{kind} {status}" for kind in kinds for status in BEGUN}
    for run_id in changed:
        assert instance.get_run_by_id(run_id).status == dg.DagsterRunStatus.FAILURE
        events = [record.dagster_event for record in instance.all_logs(run_id)]
        assert explain_events(events, run_id, home, reads_checks=False) == REASON


def test_what_cannot_be_marked_fails_nothing_and_is_tried_again(instance, home, monkeypatch, caplog):
    def refuse(*_):
        raise OperationalError("update runs", {}, OSError("database or disk is full"))

    end = partial(end_runs_of_commands, instance, home)
    with monkeypatch.context() as patch:
        patch.setattr(instance, "report_run_failed", refuse)
        end()
    assert "disk is full" in caplog.text
    assert home.unfinished_run.exists()
    end(but=f"{COMMAND} STARTED")
    assert not home.unfinished_run.exists()
    assert instance.get_run_by_id(f"{COMMAND} STARTED").status == dg.DagsterRunStatus.STARTED, "it spares itself"


def test_status_and_doctor_name_the_run_that_keeps_the_queue_waiting_but_none_that_lives(small_home):
    small_home.unfinished_run.write_text("run-7")
    words = "Dagster lists the dead run run-7 as running"
    for command in ("status", "doctor"):
        assert words in faultline(small_home, command).output
        with held_lock(small_home):
            assert words not in faultline(small_home, command).output
    small_home.unfinished_run.unlink()
    assert "queue" not in faultline(small_home, "status").output


@pytest.mark.parametrize(("gigabytes", "is_enough"), [(1.5, False), (5.5, False), (6, True), (None, True)])
def test_a_limit_of_the_address_space_under_which_libraries_die_is_a_message(monkeypatch, home, gigabytes, is_enough):
    limit = resource.RLIM_INFINITY if gigabytes is None else int(gigabytes * 1e9)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    with pytest.raises(RefreshFailed) as failed:  # There are no sources.
        run_refresh(HomeSettings(Home.at(home.root / "none"), memory_limit="2GB"), console())
    assert (f"{gigabytes} GB of address space" in str(failed.value)) is not is_enough
