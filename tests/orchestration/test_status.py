"""`faultline status`: its content, and that it leaves the working file alone while a refresh runs."""

import fcntl
import json

import duckdb
import pytest

from orchestration.publication.folders import publish, roll_back
from orchestration.read_commands.published import ReadingError
from orchestration.read_commands.status import lines_of, show_status, status
from orchestration.settings.home import Home
from tests.expectations.small_warehouse import build
from tests.homes import change, faultline, held_lock


def failed_later(home):
    """Add a failed run after the publication."""
    build(home.working_file)
    change(
        home.working_file,
        "insert into ops.runs values ('run-2', '2026-01-04', '2026-01-04', 'failed', 'v', 'breaker: x')",
        "insert into ops.checks values ('run-2', 'ops.files', 'breaker', false, true, 'x', 'y', now(), null)",
    )


def test_json_tells_publication_run_input_checks_and_freshness(small_home):
    done = faultline(small_home, "status", "--json")
    found = json.loads(done.stdout)
    assert (done.exit_code, found["running"]) == (0, None)
    assert found["published"]["run_id"] == "run-1"
    assert found["published"]["published_at"] == "2026-01-03T00:01:00Z"
    assert found["published"]["age_hours"] > 0
    assert found["last_run"]["status"] == "succeeded"
    assert found["files"]["lines_in"] == 342
    assert [cluster["cluster_id"] for cluster in found["clusters"]] == ["alpha", "beta"]
    assert found["clusters"][0]["newest_at"] == "2026-01-01T07:00:00Z"


def test_a_failed_run_that_published_nothing_and_a_stale_cluster_leave_with_one(small_home):
    change(small_home, "update marts.dim_clusters set is_stale = true, built_at = '2026-01-02', stale_reason = 'x'")
    done = faultline(small_home, "status")
    assert (done.exit_code, "STALE" in done.stdout) == (1, True)
    change(small_home, "update marts.dim_clusters set is_stale = false")
    failed_later(small_home)
    done = faultline(small_home, "status")
    assert done.exit_code == 1
    for words in ("last run   failed", "breaker: x", "0 passed, 1 failed", "run run-1", "the last publication stays"):
        assert words in done.stdout


def test_old_data_is_told_with_its_age(small_home):
    change(small_home, "update marts.dim_clusters set data_through_at = current_timestamp - interval 50 hour")
    (cluster, _) = status(small_home, fresh_hours=36)["clusters"]
    assert (cluster["is_old"], round(cluster["data_age_hours"])) == (True, 50)
    assert status(small_home, fresh_hours=72)["clusters"][0]["is_old"] is False
    assert show_status(small_home, fresh_hours=36)


RATE = "250 [12.0, 2,000] failures per 1,000 node-days"


@pytest.mark.parametrize(
    ("changes", "words", "absent"),
    [
        ((), f"{RATE}; 2.00 [1.00, 4.00] GPU-hours lost in its last 30 days", "at least"),
        (("update estimates.est_failure_rates set has_enough_data = false, note = 'too little to tell: x'",
          "update estimates.est_lost_gpu_hours set has_enough_data = false"), "too little to tell: x", "node-days"),
        (("update estimates.est_evidence_reach set is_doubtful = true, statement = 'checks saw half'",),
         f"{RATE}; at least 2.00 [1.00, 4.00] GPU-hours lost in its last 30 days; checks saw half", "STALE"),
        (("update estimates.est_lost_gpu_hours set exposure = 12.5",), "lost in 12.5 days seen", "last 30 days"),
    ],
)  # fmt: skip
def test_what_is_expected_has_its_limits_its_period_and_doubt_or_the_reason_why_nothing_can_be_told(
    small_home, changes, words, absent
):
    change(small_home, *changes)
    text = faultline(small_home, "status").stdout
    assert words in text
    assert absent not in text
    numbers = status(small_home)["clusters"][0]["numbers"]
    assert (numbers["failures_per_1000_node_days"] is None) == ("too little" in words)
    assert (numbers["expected_lost_gpu_hours"] is None) == ("too little" in words)


def test_while_a_refresh_runs_the_working_file_is_not_touched_and_the_lock_is_given_back(small_home):
    build(small_home.working_file)
    with held_lock(small_home) as holder:
        found = status(small_home)
    assert found["running"]["process"] == str(holder.pid)
    assert found["last_run"]["run_id"] == "run-1"
    status(small_home)
    with small_home.lock_file.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_the_json_of_nothing_at_all_has_the_usual_keys(small_home, tmp_path, capsys):
    show_status(small_home, as_json=True)
    usual = json.loads(capsys.readouterr().out)
    with pytest.raises(ReadingError):
        show_status(Home.at(tmp_path / "none"), as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert {key: value for key, value in found.items() if value} == {}
    assert found.keys() <= usual.keys()


@pytest.fixture
def published_twice(small_home):
    """A home with a second publication of an earlier time, because the clock was set back."""
    page = small_home.working_reports / "latest" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text("report")
    old = small_home.published_file.rename(small_home.build_file)
    publish(small_home, "run-1", "0.1.0+abc", old, page.parent)
    build(small_home.build_file)
    with duckdb.connect(str(small_home.build_file)) as con:
        con.execute("insert into ops.published values ('run-2', '2025-11-20', 'h', '0.1.0+abc', '{}')")
        con.execute("insert into ops.runs values ('run-2', '2025-11-20', '2025-11-20', 'succeeded', 'v', null)")
    publish(small_home, "run-2", "0.1.0+abc", small_home.build_file, page.parent)
    return small_home


def test_the_newest_is_told_by_its_place_and_not_by_a_clock_that_was_set_back(published_twice):
    found = status(published_twice)
    assert found["published"]["run_id"] == found["last_run"]["run_id"] == "run-2"
    assert found["published"]["published_at"] == "2025-11-20T00:00:00Z"
    change(published_twice, "update ops.published set published_at = now()::timestamp + interval 40 day")
    assert "40.0 days ahead" in lines_of(status(published_twice))[0]


def test_all_that_are_kept_are_listed_and_a_rollback_is_shown(published_twice):
    kept = [line for line in lines_of(status(published_twice)) if line.startswith("kept")]
    assert len(kept) == 2 and "run run-2, what readers see" in kept[0]
    roll_back(published_twice)
    found = status(published_twice)
    assert (found["published"]["run_id"], found["pinned"]) == ("run-1", 1)
    assert "`faultline rollback`" in "\n".join(lines_of(found))


def test_a_run_that_was_killed_before_readers_saw_it_has_failed(published_twice):
    build(published_twice.working_file)
    change(
        published_twice.working_file,
        "insert into ops.runs values ('run-3', '2026-02-01', '2026-02-01', 'succeeded', 'v', null)",
    )
    run = status(published_twice)["last_run"]
    assert (run["status"], run["message"]) == ("failed", "stopped before its publication was finished")
