"""A run's row in ops.runs is right even after its process was killed; chosen assets have the home for themselves."""

import subprocess

import dagster as dg
import pytest

from assets.warehouse import Warehouse
from orchestration.dbt.processes import note_started
from orchestration.environment import HomeSettings
from orchestration.home import Home
from orchestration.resources import resources
from orchestration.session import recorded
from orchestration.upkeep.healing import WouldLoseLines
from orchestration.upkeep.lock import RefreshLock, RefreshRunning
from tests.homes import ask, change


@pytest.fixture
def home(tmp_path):
    return Home.at(tmp_path / "home")


def statuses(home):
    with Warehouse(path=str(home.working_file)).reading() as con:
        return [status for (status,) in con.execute("select status from ops.runs order by started_at").fetchall()]


def test_a_run_that_nobody_closed_has_failed(home):
    with recorded(home, "run-1"):
        assert statuses(home) == ["running"]
    assert statuses(home) == ["failed"]


def test_dbt_ends_with_its_run(home):
    """A step that is stopped between two events of dbt leaves it running."""
    with subprocess.Popen(["sleep", "600"]) as dbt:
        with pytest.raises(KeyboardInterrupt), recorded(home, "run-1"):
            note_started(dbt)
            raise KeyboardInterrupt
        assert dbt.poll() is not None
    assert statuses(home) == ["failed"]


def test_a_killed_run_is_told_at_the_next_start(home):
    with Warehouse(path=str(home.working_file)).writing() as con:
        con.execute("insert into ops.runs values ('old', '2026-01-01', null, 'running', 'v', null)")
    with recorded(home, "run-1"):
        assert statuses(home) == ["failed", "running"]


def test_a_run_that_was_killed_before_readers_saw_its_publication_is_taken_back(home):
    left = home.publications / ".run-2"
    left.mkdir(parents=True)
    with Warehouse(path=str(home.working_file)).writing() as con:
        con.execute("insert into ops.runs values ('run-2', '2026-01-01', '2026-01-01', 'succeeded', 'v', null)")
        con.execute("insert into ops.published values ('run-2', '2026-01-01', 'h', 'v', '{}')")
    with recorded(home, "run-3"):
        pass
    with Warehouse(path=str(home.working_file)).reading() as con:
        assert con.execute("select count(*) from ops.published").fetchone() == (0,)
        (row,) = con.execute("select status, message from ops.runs where run_id = 'run-2'").fetchall()
    assert row == ("failed", "stopped before its publication was finished")
    assert not left.exists()


@pytest.fixture
def choose(home):
    """Run an asset that writes, as somebody who chose it in the web UI."""

    def choose(**arguments):
        @dg.asset
        def table(warehouse: dg.ResourceParam[Warehouse]):
            with pytest.raises(RefreshRunning):
                RefreshLock(home.lock_file).acquire()
            assert statuses(home)[-1] == "running"
            with warehouse.writing() as con:
                con.execute("create table ops.made as select 1 as a")

        return dg.materialize([table], resources=resources(HomeSettings(home, **arguments)), raise_on_error=True)

    return choose


def test_chosen_assets_have_the_home_for_themselves_and_leave_no_row_of_a_refresh(home, choose):
    assert choose().success
    assert statuses(home) == []
    with RefreshLock(home.lock_file), Warehouse(path=str(home.working_file)).reading() as con:
        assert con.execute("from ops.made").fetchall() == [(1,)]


def test_chosen_assets_wait_for_no_refresh_and_open_nothing(home, choose):
    with RefreshLock(home.lock_file), pytest.raises(dg.DagsterResourceFunctionError) as refused:
        choose()
    assert isinstance(refused.value.__cause__, RefreshRunning)
    assert [path.name for path in home.work.iterdir()] == ["refresh.lock"]


def test_the_lock_is_given_back_where_the_run_cannot_start(home, choose):
    home.sources.mkdir(parents=True)
    change(Warehouse(path=str(home.working_file)), "drop table ops.files")
    change(home.working_file, "create table ops.files as select 'c1/sacct/gone' as path, 1 as loaded")
    with pytest.raises(dg.DagsterResourceFunctionError) as refused:
        choose()
    assert isinstance(refused.value.__cause__, WouldLoseLines)
    with RefreshLock(home.lock_file):
        assert ask(home.working_file, "select status from ops.runs") == []


def test_damaged_files_are_set_aside_before_chosen_assets_are_made(home, choose, caplog):
    home.work.mkdir(parents=True)
    home.working_file.write_bytes(b"garbage" * 10_000)
    assert choose().success
    assert "was damaged" in caplog.text
    assert list(home.work.glob("faultline.duckdb.damaged-*"))
