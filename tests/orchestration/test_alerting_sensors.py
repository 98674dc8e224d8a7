"""Dagster's sensors tell of a failed run and of a stale night, and keep the reason; the command does not tell again."""

from dataclasses import replace

import dagster as dg
import pytest

from assets.warehouse import Warehouse
from orchestration.alerts.sending import tell_of_failure
from orchestration.environment import HomeSettings
from orchestration.home import Home
from orchestration.jobs import ENDED_BY_ITSELF
from orchestration.sensors import alerting
from orchestration.sensors.alerting import alerting_sensors
from orchestration.upkeep.lock import RefreshLock
from tests.orchestration.alerts.receivers import web_server


@dg.op
def break_(context):
    raise dg.Failure(context.run.tags["why"], {ENDED_BY_ITSELF: "is_told" in context.run.tags})


@dg.job
def breaking():
    break_()


@pytest.fixture
def web():
    with web_server() as web:
        yield web


@pytest.fixture
def settings(tmp_path, web):
    home = Home.at(tmp_path / "home")
    with Warehouse(path=str(home.working_file)).writing():
        pass
    return HomeSettings(home, alert_webhook=web.address)


def fail(settings, why, **tags):
    """Let a run fail, and call the sensor as the daemon does; return the run."""
    with dg.DagsterInstance.ephemeral() as instance:
        result = breaking.execute_in_process(instance=instance, raise_on_error=False, tags={"why": why, **tags})
        (event,) = [event for event in result.all_events if event.is_job_failure]
        run = instance.get_run_by_id(result.run_id)
        context = dg.build_run_status_sensor_context("alert_on_failure", event, instance, run)
        alerting_sensors(settings)[0](context.for_run_failure())
        alerting_sensors(settings)[0](context.for_run_failure())
    return result.run_id


def test_a_failed_run_is_told_once_with_its_reason(settings, web):
    run_id = fail(settings, "marts.fct_attempts is empty")
    tell_of_failure(settings, "told by the command", run_id, pytest.fail)
    (text,) = web.texts
    assert "marts.fct_attempts is empty" in text
    assert "faultline_alert_channels_failing 0.0" in settings.home.metrics.read_text()


def test_while_another_run_writes_the_failure_is_told_and_its_file_left_alone(settings, web):
    before = settings.home.working_file.stat().st_mtime_ns
    with dg.DagsterInstance.ephemeral(), RefreshLock(settings.home.lock_file):
        fail(settings, "disk full")
    assert len(web.texts) == 1
    assert settings.home.working_file.stat().st_mtime_ns == before


def test_what_the_command_has_told_is_not_told_again(settings, web):
    fail(settings, "stopped", is_told="true")
    assert web.texts == []


def test_what_somebody_stopped_is_not_told(settings, web, monkeypatch):
    monkeypatch.setattr(alerting, "was_interrupted_by", lambda _: True)
    fail(settings, "stopped")
    assert web.texts == []


def test_the_sensor_on_stale_nights_says_what_it_saw(settings, web):
    sensor = alerting_sensors(settings)[1]
    with dg.DagsterInstance.ephemeral() as instance:
        context = dg.build_sensor_context(instance)
        assert sensor.evaluate_tick(context).skip_message == "the newest publication is young enough"
        settings.home.dagster.mkdir()
        stale = alerting_sensors(replace(settings, freshness_hours=-1))[1]
        for _ in range(2):
            assert "nothing was ever published" in stale.evaluate_tick(context).skip_message
    assert len(web.texts) == 1


def test_both_are_on_from_the_start(settings):
    assert {sensor.default_status for sensor in alerting_sensors(settings)} == {dg.DefaultSensorStatus.RUNNING}
