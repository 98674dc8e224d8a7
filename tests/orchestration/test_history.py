"""The history of runs is Dagster's own, and its events are written through one connection."""

import sqlite3
from contextlib import closing
from unittest.mock import Mock

import dagster as dg
import pytest
from sqlalchemy import Engine
from sqlalchemy.event import listen, remove

from orchestration.history import EventHistory, RunHistory
from orchestration.runs import old_runs
from orchestration.runs.instance import prepare_storage
from orchestration.runs.old_runs import delete_old_runs
from orchestration.settings.home import Home
from tests.homes import copy_of

EVENTS = 50


@dg.op
def log_messages(context):
    """Log many messages."""
    for number in range(EVENTS):
        context.log.info(f"message {number}")


@dg.job
def telling():
    """Run one step."""
    log_messages()


@pytest.fixture(scope="module")
def empty_home(tmp_path_factory):
    """A home with Dagster's storage, which takes a second to make."""
    home = Home.at(tmp_path_factory.mktemp("empty") / "home")
    prepare_storage(home)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_HOME", str(home.dagster))
        with dg.DagsterInstance.get():
            pass
    return home


@pytest.fixture
def home(empty_home, tmp_path, monkeypatch):
    home = copy_of(empty_home, tmp_path)
    monkeypatch.setenv("DAGSTER_HOME", str(home.dagster))
    return home


@pytest.fixture
def opened():
    """The connections that SQLAlchemy opens during a test."""
    connections = []

    def note(connection, _):
        connections.append(connection)

    listen(Engine, "connect", note)
    yield connections
    remove(Engine, "connect", note)


def messages(instance, run_id):
    """Return the log messages of a run."""
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
        telling.execute_in_process(instance=instance)
    assert len(opened) > 2 * EVENTS, "Dagster's own storage no longer opens a connection for each event: drop ours"


def age(home, run_id, days):
    """Date a run some days back."""
    with closing(sqlite3.connect(home.dagster / "history" / "runs.db")) as con, con:
        con.execute(
            f"update runs set create_timestamp = datetime(create_timestamp, '-{days} days') where run_id = ?", [run_id]
        )


def mentions(home, run_id):
    """List the files and tables in Dagster's folder that mention a run."""
    found = [str(path) for path in home.dagster.rglob("*") if run_id in path.name]
    for file in home.dagster.rglob("*.db"):
        with closing(sqlite3.connect(file)) as con:
            for (table,) in con.execute("select name from sqlite_master where type = 'table'").fetchall():
                columns = [row[1] for row in con.execute(f"pragma table_info({table})")]
                if "run_id" in columns:
                    count = con.execute(f"select count(*) from {table} where run_id = ?", [run_id]).fetchone()[0]
                    found += [f"{file.name}.{table}"] * bool(count)
    return found


@dg.asset(check_specs=[dg.AssetCheckSpec("right", asset="checked")])
def checked(context):
    """Print a line, and pass a check."""
    print("printed")
    yield dg.MaterializeResult(check_results=[dg.AssetCheckResult(passed=True, check_name="right")])


def materialize(instance):
    return dg.materialize([checked], instance=instance).run_id


def test_old_runs_go_with_everything_that_they_wrote(home):
    with dg.DagsterInstance.get() as instance:
        old, young, running = (materialize(instance) for _ in range(3))
        for run_id, days in ((old, 91), (young, 89), (running, 500)):
            age(home, run_id, days)
        assert len(mentions(home, old)) >= 5
        assert delete_old_runs(instance, 90, running) == 1
        assert mentions(home, old) == []
        assert instance.get_run_by_id(old) is None
        for run_id in (young, running):
            assert instance.get_run_by_id(run_id).is_success
            assert len(instance.all_logs(run_id)) > 5
        assert instance.get_latest_materialization_event(dg.AssetKey("checked")).run_id == running
        assert materialize(instance)
        assert delete_old_runs(instance, 90, running) == 0


def test_the_oldest_go_first_where_there_are_too_many_for_a_night(home, monkeypatch):
    monkeypatch.setattr(old_runs, "MAX_AT_ONCE", 1)
    with dg.DagsterInstance.get() as instance:
        runs = [materialize(instance) for _ in range(3)]
        for run_id in runs[:2]:
            age(home, run_id, 100)
        for left in (runs[1:], runs[2:]):
            assert delete_old_runs(instance, 90, runs[2]) == 1
            assert {record.dagster_run.run_id for record in instance.get_run_records()} == set(left)


def size(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def test_the_space_of_many_nights_is_given_back(home):
    with dg.DagsterInstance.get() as instance:
        runs = [telling.execute_in_process(instance=instance).run_id for _ in range(3)]
    with closing(sqlite3.connect(home.dagster / "history" / "runs" / "index.db")) as con, con:
        con.execute(
            "insert into event_logs (run_id, event, dagster_event_type, timestamp)"
            " with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)"
            f" select '{runs[0]}', hex(randomblob(1000)), 'X', datetime() from n"
        )
    before = size(home.dagster)
    age(home, runs[0], 365)
    with dg.DagsterInstance.get() as instance:
        delete_old_runs(instance, 90, runs[2])
    assert before - size(home.dagster) > 3_500_000


def test_a_history_that_cannot_be_cleaned_fails_nothing(home, monkeypatch, caplog):
    with dg.DagsterInstance.get() as instance:
        age(home, materialize(instance), 100)
        monkeypatch.setattr(type(instance), "delete_run", Mock(side_effect=OSError("no way")))
        assert delete_old_runs(instance, 90, "another") == 0
    assert "could not be deleted: no way" in caplog.text
