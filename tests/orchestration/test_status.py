"""What `faultline status` tells, and that it never touches the working file while a refresh runs."""

import fcntl
import json
import subprocess
import sys

import duckdb
import pytest

from orchestration import reading
from orchestration.published import ReadingError
from orchestration.status import status
from orchestration.status_lines import lines_of
from tests.expectations.small_warehouse import build

HOLD = """
import fcntl, sys, time
file = open(sys.argv[1], "a+")
fcntl.flock(file, fcntl.LOCK_EX)
file.truncate(0); file.write("4711"); file.flush()
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def home(small_home):
    return small_home


class TestStatus:
    def test_it_tells_publication_run_input_checks_and_freshness(self, home, capsys):
        found = status(home.published_file, home.working_file)
        assert found["published"]["run_id"] == "run-1"
        assert found["published"]["published_at"] == "2026-01-03T00:01:00Z"
        assert found["published"]["age_hours"] > 0
        assert found["last_run"]["status"] == "succeeded"
        assert found["files"]["lines_in"] == 342
        assert [cluster["cluster_id"] for cluster in found["clusters"]] == ["alpha", "beta"]
        assert found["clusters"][0]["newest_at"] == "2026-01-01T07:00:00Z"
        assert reading.show_status(home, as_json=True)
        assert json.loads(capsys.readouterr().out)["running"] is None

    def test_a_failed_run_that_published_nothing_is_told(self, home, capsys):
        build(home.working_file)
        with duckdb.connect(str(home.working_file)) as con:
            con.execute(
                "insert into ops.runs values ('run-2', '2026-01-04', '2026-01-04', 'failed', 'v', 'breaker: x')"
            )
            con.execute("insert into ops.checks values ('run-2', 'ops.files', 'breaker', false, true, 'x', 'y', now())")
        assert not reading.show_status(home)
        text = capsys.readouterr().out
        assert "breaker: x" in text
        assert "0 passed, 1 failed" in text
        assert "run run-1" in text

    def test_while_a_refresh_runs_the_working_file_is_not_touched(self, home):
        build(home.working_file)
        with subprocess.Popen(
            [sys.executable, "-c", HOLD, str(home.lock_file)], stdout=subprocess.PIPE, text=True
        ) as holder:
            holder.stdout.readline()
            found = status(home.published_file, home.working_file)
            holder.kill()
        assert found["running"] == {"process": "4711"}
        assert found["last_run"]["run_id"] == "run-1"
        assert lines_of(found)[0] == "refresh    running (process 4711)"

    def test_the_lock_is_given_back(self, home):
        home.lock_file.write_text("")
        build(home.working_file)
        status(home.published_file, home.working_file)
        with home.lock_file.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def test_nothing_at_all(self, tmp_path):
        with pytest.raises(ReadingError, match="run `faultline refresh`"):
            status(tmp_path / "a.duckdb", tmp_path / "b.duckdb")
