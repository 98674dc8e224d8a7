"""The made-up cluster on a small scale: what its logs hold, what grows in a night, and that the floor can read it."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import duckdb
import pytest

from tests.benchmarks import floor, made
from tests.benchmarks.growing import CAMPUS

SCALE = Fraction(1, 100)


@pytest.fixture(scope="module")
def logs(tmp_path_factory) -> Path:
    """40,000 attempts on 12 nodes."""
    return CAMPUS.sources_of(SCALE, tmp_path_factory.mktemp("growing"))


@pytest.fixture(scope="module")
def con(logs):
    """The floor's tables of all days but the last."""
    target = logs / "floor.duckdb"
    floor.run(logs / made.BEFORE, target, CAMPUS.name)
    connection = duckdb.connect(str(target))
    yield connection
    connection.close()


def one(con, sql):
    return con.execute(sql).fetchall()[0]


def test_there_are_as_many_of_each_as_the_scale_says(con):
    assert one(con, "select count(*) from attempts")[0] == pytest.approx(SCALE * CAMPUS.attempts, rel=0.01)
    assert one(con, "select count(*) from checks")[0] == pytest.approx(SCALE * 3_000_000, rel=0.1)
    assert one(con, "select count(*) from kernel_events where kind = 'xid'")[0] == pytest.approx(3_000, rel=0.2)


def test_checks_say_that_all_is_well_only_after_they_failed(con):
    shares = con.execute(
        "select result, count(*) / sum(count(*)) over () from checks group by all order by 1"
    ).fetchall()
    assert [result for result, _ in shares] == [0, 1, 2]
    assert shares[0][1] < 0.15


def test_no_gpu_is_given_to_two_jobs(con):
    most = one(con, "select max(gpu_hours) from node_days")[0]
    assert 20 * 4 < most <= 24 * 4 + 1e-6


def test_jobs_are_small_and_some_are_tasks_or_start_again(con):
    sizes = dict(con.execute("select gpu_count, count(*) from attempts group by all").fetchall())
    assert set(sizes) == {1, 2, 4, 16}
    assert one(con, "select avg((array_task_id is not null)::integer) from attempts")[0] == pytest.approx(0.4, abs=0.1)
    again = one(con, "select count(*) from (select 1 from attempts group by job_id_raw having count(*) = 2)")[0]
    assert 10 < again < 100


def test_faults_are_found_and_preemptions_know_the_job_that_took_the_place(con):
    categories = {category for (category,) in con.execute("select distinct category from failures").fetchall()}
    assert {"gpu_memory", "gpu_unavailable", "gpu_nvlink", "pcie", "ib_link"} <= categories
    assert one(con, "select count(*) > 50, count(*) = count(instigator_id) from preemptions") == (True, True)


@pytest.mark.parametrize("kind", ["sacct/sacct.psv", "health/health.jsonl", "slurmctld/slurmctld.log"])
def test_the_stated_share_of_lines_is_damaged(logs, kind):
    lines = (logs / made.BEFORE / CAMPUS.cluster / kind).read_bytes().splitlines()
    repeated = sum(line == other for line, other in pairwise(lines))
    empty = lines.count(b"")
    not_utf8 = sum(b"\xe9" in line for line in lines)
    assert repeated / len(lines) == pytest.approx(0.001, rel=0.5)
    assert 0 < empty < repeated
    assert 0 < not_utf8 < repeated


def test_the_last_day_is_appended_to_the_same_files(logs, tmp_path):
    append = made.hold_back(logs, tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    append()
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert set(before) == set(after)
    assert all(after[path].startswith(content) for path, content in before.items())
    grown = {path.name for path, content in before.items() if len(after[path]) > len(content)}
    assert grown >= {"sacct.psv", "health.jsonl", "kern.log", "slurmctld.log"}
    last = (tmp_path / CAMPUS.cluster / "sacct" / "sacct.psv").read_text(errors="replace").splitlines()[-1]
    assert last.count("|2024-12-30T") + last.count("|2024-12-31T") > 0


def test_the_inventory_is_not_newer_than_the_other_logs(logs):
    written = (logs / made.BEFORE / CAMPUS.cluster / "inventory" / "scontrol_node.txt").stat().st_mtime
    assert dt.datetime.fromtimestamp(written, dt.UTC) == dt.datetime(2024, 12, 30, tzinfo=dt.UTC)


def test_the_cluster_says_that_it_is_simulated(logs):
    assert "simulated = true" in (logs / made.BEFORE / CAMPUS.cluster / "cluster.toml").read_text()
