"""Dagster's sensor reports a run that died; a run that fails reports that itself."""

import dagster as dg
import pytest

from orchestration.runs.dead_runs import REASON
from orchestration.runs.jobs import COMMAND, refresh_job
from orchestration.sensors.alerting import alerting_sensors
from orchestration.settings.environment import HomeSettings
from orchestration.settings.home import Home
from tests.orchestration.alerts.receivers import web_server


@dg.op
def fail():
    raise dg.Failure("marts.fct_attempts is empty")


@dg.job
def failing():
    fail()


@pytest.fixture
def web():
    with web_server() as web:
        yield web


@pytest.fixture
def settings(tmp_path, web):
    home = Home.at(tmp_path / "home")
    home.work.mkdir(parents=True)
    return HomeSettings(home, alert_webhook=web.address)


def sensors(settings):
    return alerting_sensors(settings, refresh_job())


def look_at(settings, instance, run_id):
    """Call the sensor on a run that failed, twice, as after a restart of the daemon."""
    events = [record.dagster_event for record in instance.all_logs(run_id)]
    (event,) = [event for event in events if event.is_job_failure]
    run = instance.get_run_by_id(run_id)
    context = dg.build_run_status_sensor_context("alert_on_failure", event, instance, run)
    sensors(settings)[0](context.for_run_failure())
    return sensors(settings)[0](context.for_run_failure())


def failed_by_itself(instance, **tags):
    return failing.execute_in_process(instance=instance, raise_on_error=False, tags=tags).run_id


def died(instance, **tags):
    run = instance.create_run_for_job(failing, tags=tags)
    instance.report_run_failed(run, REASON)
    return run.run_id


@pytest.mark.parametrize(
    ("end", "is_suspected", "tags", "alerts", "requests"),
    [
        (died, False, {}, 1, False),
        (failed_by_itself, False, {}, 0, False),
        (failed_by_itself, True, {}, 0, True),
        (failed_by_itself, True, {COMMAND: "true"}, 0, False),
    ],
    ids=["died", "spoke for itself", "left word of damage", "left it to its command"],
)
def test_who_died_is_told_once_and_who_may_have_met_damage_runs_once_more(
    settings, web, end, is_suspected, tags, alerts, requests
):
    if is_suspected:
        settings.home.damage_suspected.touch()
    with dg.DagsterInstance.ephemeral() as instance:
        run_id = end(instance, **tags)
        asked = look_at(settings, instance, run_id)
    assert [REASON in text for text in web.texts] == [True] * alerts
    assert (asked.run_key if requests else asked) == (run_id if requests else None)
