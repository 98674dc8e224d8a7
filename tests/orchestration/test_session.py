"""One refresh at a time, and a run's row that tells how it ended even when the process was killed."""

import subprocess
import sys

import dagster as dg
import pytest

from assets.warehouse import Warehouse
from orchestration.home import Home
from orchestration.session import RefreshLock, RefreshRunning, RefreshSession, wait_until_free


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


HOLD = """
import sys, time, duckdb
con = duckdb.connect(sys.argv[1])
print("held", flush=True)
time.sleep(float(sys.argv[2]))
"""


def test_what_a_killed_refresh_left_running_is_waited_for(tmp_path):
    file = tmp_path / "faultline.duckdb"
    with subprocess.Popen([sys.executable, "-c", HOLD, str(file), "1"], stdout=subprocess.PIPE, text=True) as holder:
        holder.stdout.readline()
        wait_until_free(file, 30)
        assert holder.wait(timeout=5) == 0


def test_patience_ends_and_the_holder_is_named(tmp_path):
    file = tmp_path / "faultline.duckdb"
    with subprocess.Popen([sys.executable, "-c", HOLD, str(file), "60"], stdout=subprocess.PIPE, text=True) as holder:
        holder.stdout.readline()
        with pytest.raises(RefreshRunning, match=f"process {holder.pid} still holds"):
            wait_until_free(file, 0.1)
        holder.kill()


def test_the_lock_names_its_holder_and_dies_with_it(tmp_path):
    path = tmp_path / "refresh.lock"
    code = (
        "import sys, time; from pathlib import Path; from orchestration.session import RefreshLock;"
        "lock = RefreshLock(Path(sys.argv[1])); lock.acquire(); print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) as holder:
        holder.stdout.readline()
        with pytest.raises(RefreshRunning, match=f"process {holder.pid}"):
            RefreshLock(path).acquire()
        holder.kill()
    lock = RefreshLock(path)
    lock.acquire()
    lock.release()
