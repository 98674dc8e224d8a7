"""A run's session: one refresh at a time, and a row in ops.runs that is right even after the process was killed."""

import subprocess

import dagster as dg
import pytest

from assets.warehouse import Warehouse
from orchestration.dbt.processes import note_started
from orchestration.home import Home
from orchestration.session import RefreshSession, heal_before_a_run
from orchestration.upkeep.lock import RefreshLock, RefreshRunning, lock_for_a_run


@pytest.fixture
def session(tmp_path):
    return RefreshSession(working_file=str(tmp_path / "faultline.duckdb"), lock_file=str(tmp_path / "refresh.lock"))


def statuses(session):
    with Warehouse(path=session.working_file).reading() as con:
        return [status for (status,) in con.execute("select status from ops.runs order by started_at").fetchall()]


def test_a_run_that_nobody_closed_has_failed(session):
    @dg.op
    def work(session: RefreshSession):
        assert statuses(session) == ["running"]

    @dg.job(resource_defs={"session": session}, executor_def=dg.in_process_executor)
    def job():
        work()

    assert job.execute_in_process().success
    assert statuses(session) == ["failed"]


def test_dbt_ends_with_its_run(session):
    """A step that is stopped between two events of dbt leaves it running."""
    with subprocess.Popen(["sleep", "600"]) as dbt:

        @dg.op
        def work(session: RefreshSession):
            note_started(dbt)
            raise KeyboardInterrupt

        @dg.job(resource_defs={"session": session}, executor_def=dg.in_process_executor)
        def job():
            work()

        assert not job.execute_in_process(raise_on_error=False).success
        assert dbt.poll() is not None
    assert statuses(session) == ["failed"]


def test_a_killed_run_is_told_at_the_next_start(session):
    with Warehouse(path=session.working_file).writing() as con:
        con.execute("insert into ops.runs values ('old', '2026-01-01', null, 'running', 'v', null)")
    session.setup_for_execution(dg.build_init_resource_context())
    assert sorted(statuses(session)) == ["failed", "running"]
    session.teardown_after_execution(dg.build_init_resource_context())
    assert statuses(session) == ["failed", "failed"]


def test_a_run_that_was_killed_before_readers_saw_its_publication_is_taken_back(tmp_path):
    home = Home.at(tmp_path)
    left = home.publications / ".run-2"
    left.mkdir(parents=True)
    session = RefreshSession(working_file=str(home.working_file), lock_file=str(home.lock_file), home=str(home.root))
    with Warehouse(path=session.working_file).writing() as con:
        con.execute("insert into ops.runs values ('run-2', '2026-01-01', '2026-01-01', 'succeeded', 'v', null)")
        con.execute("insert into ops.published values ('run-2', '2026-01-01', 'h', 'v', '{}')")
    session.setup_for_execution(dg.build_init_resource_context())
    session.teardown_after_execution(dg.build_init_resource_context())
    with Warehouse(path=session.working_file).reading() as con:
        assert con.execute("select count(*) from ops.published").fetchone() == (0,)
        (row,) = con.execute("select status, message from ops.runs where run_id = 'run-2'").fetchall()
    assert row == ("failed", "stopped before its publication was finished")
    assert not left.exists()


def test_a_session_gives_the_lock_back_when_it_cannot_start(session, tmp_path):
    (tmp_path / "faultline.duckdb").mkdir()
    with pytest.raises(Exception, match="directory"):
        session.setup_for_execution(dg.build_init_resource_context())
    lock = RefreshLock(tmp_path / "refresh.lock")
    lock.acquire()
    lock.release()


def test_a_session_takes_over_the_lock_of_its_process_and_leaves_it_held(session, tmp_path):
    context = dg.build_init_resource_context()
    with lock_for_a_run(tmp_path / "refresh.lock"):
        session.setup_for_execution(context)
        session.teardown_after_execution(context)
        with pytest.raises(RefreshRunning):
            RefreshLock(tmp_path / "refresh.lock").acquire()
    assert statuses(session) == ["failed"]


def test_a_session_that_does_not_get_the_lock_opens_nothing(session, tmp_path):
    lock = RefreshLock(tmp_path / "refresh.lock")
    lock.acquire()
    with pytest.raises(RefreshRunning):
        session.setup_for_execution(dg.build_init_resource_context())
    lock.release()
    assert [path.name for path in tmp_path.iterdir()] == ["refresh.lock"]


def test_a_run_of_the_schedule_heals_the_home_before_it_begins(tmp_path, caplog):
    home = Home.at(tmp_path)
    home.work.mkdir()
    home.working_file.write_bytes(b"garbage" * 10_000)
    session = RefreshSession(working_file=str(home.working_file), lock_file=str(home.lock_file), home=str(home.root))
    session.setup_for_execution(dg.build_init_resource_context())
    assert statuses(session) == ["running"]
    assert "was damaged" in caplog.text
    assert list(home.work.glob("faultline.duckdb.damaged-*"))
    session.teardown_after_execution(dg.build_init_resource_context())


@pytest.mark.parametrize(("last", "is_deep"), [("succeeded", False), ("failed", True), ("running", True)])
def test_a_run_of_the_schedule_reads_the_files_from_end_to_end_after_one_that_failed(
    tmp_path, monkeypatch, last, is_deep
):
    home, asked = Home.at(tmp_path), []
    with Warehouse(path=str(home.working_file)).writing() as con:
        con.execute("insert into ops.runs values ('old', '2026-01-01', null, ?, 'v', null)", [last])
    monkeypatch.setattr("orchestration.session.heal", lambda home, say, deep: asked.append(deep))
    heal_before_a_run(home, print)
    assert asked == [is_deep]
