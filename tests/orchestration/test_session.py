"""A run locks the home from its first write to its end, and its row in ops.runs is right however it ends."""

import subprocess

import dagster as dg
import duckdb
import pytest

from assets.warehouse import Warehouse
from orchestration.dbt.processes import note_started
from orchestration.lifecycle.resources import resources
from orchestration.lifecycle.session import DIED, STOPPED, Caller
from orchestration.runs.jobs import Everything
from orchestration.settings.environment import read_settings
from orchestration.settings.home import Home
from orchestration.upkeep.lock import RefreshLock, RefreshRunning
from tests.homes import ask, change
from tests.orchestration.alerts.receivers import web_server

A, B = dg.AssetKey("a"), dg.AssetKey("b")
CHECK = dg.AssetCheckKey(A, "check")
EVERYTHING = Everything(frozenset({A, B}), frozenset({CHECK}), frozenset({"a", "b", "check"}))


@pytest.fixture
def home(tmp_path):
    """A home before its first run."""
    return Home.at(tmp_path / "home")


@pytest.fixture
def web(monkeypatch):
    with web_server() as web:
        monkeypatch.setenv("FAULTLINE_ALERT_WEBHOOK", web.address)
        yield web


@pytest.fixture
def run(home):
    """Run an asset that uses the warehouse, as a whole refresh or as a part of one."""

    def run(do, *, is_whole=True):
        @dg.asset(output_required=False)
        def table(warehouse: dg.ResourceParam[Warehouse]):
            do(warehouse)

        steps = frozenset({"table"} if is_whole else {"table", "another"})
        everything = Everything(frozenset({table.key}), frozenset(), steps)
        given = resources(read_settings(home.root), Caller(patience_seconds=0), everything)
        return dg.materialize([table], resources=given, raise_on_error=False)

    return run


def rows(home):
    return ask(home.working_file, "select status, message from ops.runs order by rowid")


def write(warehouse):
    with warehouse.writing() as con:
        con.execute("create table ops.made as select 1 as a")


def fail(warehouse):
    write(warehouse)
    raise dg.Failure("an answer that no one expected")


def damage(warehouse):
    write(warehouse)
    raise duckdb.IOException("Serialization Error: Failed to deserialize")


@pytest.mark.parametrize(
    ("chosen", "is_whole"),
    [
        ({}, True),
        ({"asset_selection": frozenset()}, True),
        ({"asset_selection": frozenset({A, B})}, True),
        ({"asset_selection": frozenset({A, B}), "asset_check_selection": frozenset({CHECK})}, True),
        ({"asset_selection": frozenset({A, B}), "asset_check_selection": frozenset()}, False),
        ({"asset_selection": frozenset({A})}, False),
        ({"asset_check_selection": frozenset({CHECK})}, False),
        ({"step_keys_to_execute": ["a", "b", "check"]}, True),
        ({"step_keys_to_execute": ["b"]}, False),
    ],
)
def test_only_a_run_of_all_assets_checks_and_steps_is_a_refresh_whatever_its_job(chosen, is_whole):
    for job in ("refresh", "__ASSET_JOB"):
        assert EVERYTHING.is_in(dg.DagsterRun(job, "run", **chosen)) == is_whole


def test_the_home_is_taken_at_the_first_writing_and_given_back_at_the_end(home, run):
    def take(warehouse):
        assert not home.lock_file.exists()
        write(warehouse)
        with pytest.raises(RefreshRunning):
            RefreshLock(home.lock_file, 0).acquire()
        with warehouse.reading() as con:
            assert con.execute("select status from ops.runs").fetchall() == [("running",)]

    assert run(take).success
    with RefreshLock(home.lock_file, 0):
        assert ask(home.working_file, "from ops.made") == [(1,)]


def test_while_another_process_has_the_home_nothing_is_opened_and_nobody_told(home, run, web):
    with RefreshLock(home.lock_file):
        result = run(write)
    (event,) = [event for event in result.all_events if event.is_step_failure]
    assert "is already running" in event.step_failure_data.error.to_string()
    assert [path.name for path in home.work.iterdir()] == ["refresh.lock"]
    assert web.texts == []


@pytest.mark.parametrize(
    ("do", "is_whole", "left", "alerts"),
    [
        (write, True, [("failed", STOPPED)], 0),
        (write, False, [], 0),
        (fail, True, [("failed", "an answer that no one expected")], 1),
        (fail, False, [], 1),
    ],
    ids=["stopped between steps", "a part", "a step failed", "a step of a part failed"],
)
def test_only_a_refresh_leaves_a_row_and_a_failure_is_told(home, run, web, do, is_whole, left, alerts):
    run(do, is_whole=is_whole)
    assert rows(home) == left
    assert ["an answer that no one expected" in text for text in web.texts] == [True] * alerts
    assert not home.unfinished_run.exists()


def test_after_word_of_damage_the_next_run_reads_the_files_whole_and_only_the_second_failure_is_told(home, run, web):
    run(damage)
    assert home.damage_suspected.exists()
    assert web.texts == []
    change(home.working_file, "drop table ops.made")
    run(damage)
    assert not home.damage_suspected.exists()
    assert len(web.texts) == 1


def test_dbt_ends_with_its_run(run):
    """A step that is stopped between two events of dbt leaves it running."""
    with subprocess.Popen(["sleep", "600"]) as dbt:
        run(lambda _: note_started(dbt))
        assert dbt.poll() is not None


OLD = "insert into ops.runs values ('old', '2026-01-01', {}, '{}', 'v', null)"


@pytest.mark.parametrize(
    ("left", "message", "is_told"),
    [
        ([OLD.format("null", "running")], DIED, True),
        (
            [
                OLD.format("'2026-01-01'", "succeeded"),
                "insert into ops.published values ('old', '2026-01-01', 'h', 'v', '{}')",
            ],
            "stopped before its publication was finished",
            False,
        ),
    ],
    ids=["without a word", "before readers saw its publication"],
)
def test_a_run_that_was_killed_has_failed_and_its_publication_is_taken_back(home, run, web, left, message, is_told):
    half = home.publications / ".old"
    half.mkdir(parents=True)
    with Warehouse(path=str(home.working_file)).writing():
        pass
    change(home.working_file, *left)
    run(write, is_whole=False)
    assert ask(home.working_file, "from ops.published") == []
    assert rows(home) == [("failed", message)]
    assert [DIED in text for text in web.texts] == [True] * is_told
    assert not half.exists()
