"""The history of runs is Dagster's own, and its events are written through one connection."""

import dagster as dg
import pytest
from sqlalchemy import Engine
from sqlalchemy.event import listen, remove

from orchestration.history import EventHistory, RunHistory
from orchestration.home import Home
from orchestration.instance import prepare_storage

EVENTS = 50


@dg.op
def told(context):
    """Tell of many things."""
    for number in range(EVENTS):
        context.log.info(f"message {number}")


@dg.job
def telling():
    """Run one step."""
    told()


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home with Dagster's storage in it."""
    home = Home.at(tmp_path / "home")
    monkeypatch.setenv("DAGSTER_HOME", str(home.dagster))
    prepare_storage(home)
    return home


@pytest.fixture
def opened():
    """The connections that SQLAlchemy opens from now on."""
    connections = []

    def note(connection, _):
        connections.append(connection)

    listen(Engine, "connect", note)
    yield connections
    remove(Engine, "connect", note)


def messages(instance, run_id):
    """Give what was logged in a run."""
    return [event.user_message for event in instance.all_logs(run_id) if event.user_message.startswith("message")]


def test_dagster_reads_what_was_written_through_kept_connections(home, opened):
    with dg.DagsterInstance.get() as instance:
        assert isinstance(instance.event_log_storage, EventHistory)
        assert isinstance(instance.run_storage, RunHistory)
        run = telling.execute_in_process(instance=instance)
        assert messages(instance, run.run_id) == [f"message {number}" for number in range(EVENTS)]
    assert len(opened) < EVENTS
    assert not list(home.dagster.rglob("*.db-wal"))
    (home.dagster / "dagster.yaml").write_text("telemetry: {enabled: false}\n", encoding="utf-8")
    with dg.DagsterInstance.get() as instance:
        assert not isinstance(instance.event_log_storage, EventHistory)
        assert instance.get_run_by_id(run.run_id).is_success
        assert len(messages(instance, run.run_id)) == EVENTS


def test_dagsters_own_storage_opens_a_connection_for_each_event(home, opened):
    """When it no longer does, orchestration/history.py is no longer needed."""
    (home.dagster / "dagster.yaml").write_text("telemetry: {enabled: false}\n", encoding="utf-8")
    with dg.DagsterInstance.get() as instance:
        telling.execute_in_process(instance=instance)
    assert len(opened) > EVENTS
