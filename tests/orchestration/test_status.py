"""`faultline status`: its content, and that it leaves the working file alone while a refresh runs."""

import fcntl
import json

import duckdb
import pytest
from typer.testing import CliRunner

from orchestration.cli import app
from orchestration.doctor.warehouse import warehouse_findings
from orchestration.publication.folders import publish, roll_back
from orchestration.read_commands.published import ReadingError
from orchestration.read_commands.status import lines_of, show_status, status
from orchestration.settings.home import Home
from tests.expectations.small_warehouse import build
from tests.homes import change, faultline, held_lock

REFUSED_NOW = """
    insert into ops.files by name
    select * replace (path || '@0123456789ab' as path, path as version_of, false as is_present,
        timestamp '2026-01-02 12:00' as last_at)
    from ops.files where path = 'beta/sacct/all.psv';
    update ops.files set status = 'refused', reason = 'empty file', next_step = 'Export it again.'
    where path = 'beta/sacct/all.psv';
"""


@pytest.fixture
def home(small_home):
    return small_home


class TestStatus:
    def test_it_tells_publication_run_input_checks_and_freshness(self, home, capsys):
        found = status(home)
        assert found["published"]["run_id"] == "run-1"
        assert found["published"]["published_at"] == "2026-01-03T00:01:00Z"
        assert found["published"]["age_hours"] > 0
        assert found["last_run"]["status"] == "succeeded"
        assert found["files"]["lines_in"] == 342
        assert [cluster["cluster_id"] for cluster in found["clusters"]] == ["alpha", "beta"]
        assert found["clusters"][0]["newest_at"] == "2026-01-01T07:00:00Z"
        assert show_status(home, as_json=True)
        assert json.loads(capsys.readouterr().out)["running"] is None

    def test_a_failed_run_that_published_nothing_is_told(self, home, capsys):
        build(home.working_file)
        with duckdb.connect(str(home.working_file)) as con:
            con.execute(
                "insert into ops.runs values ('run-2', '2026-01-04', '2026-01-04', 'failed', 'v', 'breaker: x')"
            )
            con.execute(
                "insert into ops.checks values ('run-2', 'ops.files', 'breaker', false, true, 'x', 'y', now(), null)"
            )
        assert not show_status(home)
        text = capsys.readouterr().out
        assert "breaker: x" in text
        assert "0 passed, 1 failed" in text
        assert "run run-1" in text

    def test_a_stale_cluster_is_a_failure(self, home, capsys):
        change(home, "update marts.dim_clusters set is_stale = true, built_at = '2026-01-02', stale_reason = 'x'")
        assert not show_status(home)
        assert "STALE" in capsys.readouterr().out

    def test_old_data_is_told_with_its_age_and_what_to_do(self, home, capsys):
        change(home, "update marts.dim_clusters set data_through_at = current_timestamp - interval 50 hour")
        assert show_status(home, fresh_hours=36)
        assert "put newer logs into its folder and run `faultline refresh`" in capsys.readouterr().out
        (cluster, _) = status(home, fresh_hours=36)["clusters"]
        assert (cluster["is_old"], round(cluster["data_age_hours"])) == (True, 50)
        assert show_status(home, fresh_hours=72)
        assert "OLD" not in capsys.readouterr().out

    def test_what_is_expected_stands_with_its_limits_or_the_reason_why_nothing_can_be_told(self, home, capsys):
        show_status(home)
        text = capsys.readouterr().out
        assert "250 [12.0, 2,000] failures per 1,000 node-days; 2.00 [1.00, 4.00] GPU-hours lost in its last 30" in text
        with duckdb.connect(str(home.published_file)) as con:
            con.execute(
                "update estimates.est_failure_rates set has_enough_data = false, note = 'too little to tell: x'"
            )
            con.execute("update estimates.est_lost_gpu_hours set has_enough_data = false")
        show_status(home)
        assert "too little to tell: x" in (text := capsys.readouterr().out)
        assert "per 1,000 node-days" not in text
        numbers = status(home)["clusters"][0]["numbers"]
        assert numbers["failures_per_1000_node_days"] is numbers["expected_lost_gpu_hours"] is None

    def test_a_loss_of_doubtful_evidence_is_at_least_that(self, home, capsys):
        change(home, "update estimates.est_evidence_reach set is_doubtful = true, statement = 'checks saw half'")
        show_status(home)
        words = "node-days; at least 2.00 [1.00, 4.00] GPU-hours lost in its last 30 days; checks saw half\n"
        assert words in capsys.readouterr().out
        change(home, "update estimates.est_evidence_reach set is_doubtful = false")
        show_status(home)
        assert "at least" not in capsys.readouterr().out

    def test_a_month_is_called_that_only_where_all_of_it_was_seen(self, home, capsys):
        change(home, "update estimates.est_lost_gpu_hours set exposure = 12.5")
        show_status(home)
        assert "2.00 [1.00, 4.00] GPU-hours lost in 12.5 days seen\n" in (text := capsys.readouterr().out)
        assert "last 30 days" not in text

    def test_while_a_refresh_runs_the_working_file_is_not_touched(self, home):
        build(home.working_file)
        with held_lock(home) as holder:
            found = status(home)
        assert found["running"]["process"] == str(holder.pid)
        assert found["last_run"]["run_id"] == "run-1"
        assert lines_of(found)[0].startswith(f"refresh    running (process {holder.pid} of ")

    def test_the_lock_is_given_back(self, home):
        home.lock_file.write_text("")
        build(home.working_file)
        status(home)
        with home.lock_file.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def test_the_json_of_nothing_at_all_has_the_usual_keys(self, home, tmp_path, capsys):
        show_status(home, as_json=True)
        usual = json.loads(capsys.readouterr().out)
        with pytest.raises(ReadingError):
            show_status(Home.at(tmp_path / "none"), as_json=True)
        found = json.loads(capsys.readouterr().out)
        assert {key: value for key, value in found.items() if value} == {}
        assert found.keys() <= usual.keys()

    def test_older_versions_are_counted_apart_and_a_refused_file_tells_since_when(self, home):
        change(home, REFUSED_NOW)
        lines = [line.strip() for line in lines_of(status(home))]
        (said,) = [line for line in lines if line.startswith("1 older version of a file that has other bytes now; ")]
        assert said.endswith("what was read of it stays, as logs rotate")
        assert "beta/sacct/all.psv tells of nothing after 2026-01-02 12:00 UTC; `faultline doctor` says why" in lines
        assert not [line for line in lines if "removed from the sources folder" in line]
        (finding,) = [found for found in warehouse_findings(home) if found.where == "beta/sacct/all.psv"]
        assert finding.what == (
            "not read: empty file; older versions of it count, which tell of nothing after 2026-01-02 12:00 UTC"
        )


class TestPublications:
    @pytest.fixture
    def published_twice(self, home):
        page = home.working_reports / "latest" / "index.html"
        page.parent.mkdir(parents=True)
        page.write_text("report")
        old = home.published_file.rename(home.build_file)
        publish(home, "run-1", "0.1.0+abc", old, page.parent)
        build(home.working_file)
        with duckdb.connect(str(home.build_file)) as con:
            con.execute("insert into ops.published values ('run-2', '2025-11-20', 'h', '0.1.0+abc', '{}')")
            con.execute("insert into ops.runs values ('run-2', '2025-11-20', '2025-11-20', 'succeeded', 'v', null)")
        publish(home, "run-2", "0.1.0+abc", home.build_file, page.parent)
        return home

    def test_all_that_are_kept_are_listed(self, published_twice):
        lines = lines_of(status(published_twice))
        assert next(line for line in lines if line.startswith("kept")).endswith("run run-2, what readers see")
        assert len([line for line in lines if line.startswith("kept")]) == 2

    def test_the_newest_is_told_by_its_place_and_not_by_a_clock_that_was_set_back(self, published_twice):
        published_twice.working_file.unlink()
        found = status(published_twice)
        assert found["published"]["run_id"] == "run-2"
        assert found["published"]["published_at"] == "2025-11-20T00:00:00Z"
        assert found["last_run"]["run_id"] == "run-2"

    def test_a_rollback_is_shown(self, published_twice):
        roll_back(published_twice)
        found = status(published_twice)
        assert (found["published"]["run_id"], found["pinned"]) == ("run-1", 1)
        assert any("pinned by `faultline rollback` to publication 1" in line for line in lines_of(found))

    def test_a_run_that_was_killed_before_readers_saw_it_has_failed(self, published_twice):
        with duckdb.connect(str(published_twice.working_file)) as con:
            con.execute("insert into ops.runs values ('run-3', '2026-02-01', '2026-02-01', 'succeeded', 'v', null)")
        run = status(published_twice)["last_run"]
        assert (run["status"], run["message"]) == ("failed", "stopped before its publication was finished")

    def test_a_clock_that_was_set_back_is_told(self, published_twice):
        published_twice.working_file.unlink()
        with duckdb.connect(str(published_twice.published_file)) as con:
            con.execute("update ops.published set published_at = now()::timestamp + interval 40 day where rowid = 1")
        assert "(40 days ahead of this machine's clock)" in lines_of(status(published_twice))[0]


class TestAFailedRefresh:
    def test_status_leaves_with_one_and_names_the_reason_and_the_next_step(self, home):
        build(home.working_file)
        with duckdb.connect(str(home.working_file)) as con:
            con.execute("insert into ops.runs values ('run-2', '2026-01-04', '2026-01-04', 'failed', 'v', 'x is y')")
        done = faultline(home, "status")
        assert done.exit_code == 1
        assert "last run   failed" in done.output
        assert "x is y" in done.output
        assert "the last publication stays; repair what the message names" in done.output


@pytest.mark.parametrize("command", [["status"], ["query", "select 1"]])
def test_without_a_home_that_is_named_the_message_says_so(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FAULTLINE_HOME", raising=False)
    hint = "FAULTLINE_HOME is not set: export it, or give --home; in a new home, run `faultline refresh` first"
    assert hint in CliRunner().invoke(app, command).stderr
    assert "is not set" not in CliRunner().invoke(app, [*command, "--home", "elsewhere"]).stderr
    monkeypatch.setenv("FAULTLINE_HOME", "elsewhere")
    assert "is not set" not in CliRunner().invoke(app, command).stderr
