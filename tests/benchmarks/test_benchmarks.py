"""Logs are as the tables of habits say, the floor finds what was planted, and the page says what was measured."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from assets.simulation import simulate
from orchestration.settings.home import Home
from tests.benchmarks import floor, made
from tests.benchmarks.measuring import CommandFailed, faultline, measure
from tests.benchmarks.page import MAX_PEAK_GB
from tests.homes import ask

SCALES = {"growing": Fraction(1, 100), "varied": Fraction(1, 50)}
"""40,000 attempts on 12 nodes, and 80,000 on 40."""
PER_NODE = "select count(*) as n from checks where result <> 0 group by node_id"
HABITS = {
    # query of the floor's tables: least and most, of growing and of varied
    "select count(*) from attempts": ((39_500, 40_100), (79_200, 80_400)),
    "select count(*) from checks": ((27_000, 33_000), (52_000, 64_000)),
    "select count(*) from kernel_events where kind = 'xid'": ((2_400, 3_600), (4_800, 8_000)),
    "select count(distinct gpu_count) from attempts": ((4, 4), (6, 40)),
    "select max(gpu_hours) from node_days": ((80, 96 + 1e-6), (160, 192 + 1e-6)),  # no GPU is given to two jobs
    "select avg((array_task_id is not null)::integer) from attempts": ((0.3, 0.5), (0, 0)),
    "select count(*) from (select 1 from attempts group by job_id_raw having count(*) = 2)": ((10, 100), (20, 200)),
    "select count(instigator_id) / count(*) from preemptions": ((1, 1), (0.99, 1)),
    "select max(n) / sum(n) from (select count(*) as n from attempts group by user_name)": ((0, 0.1), (0.3, 0.37)),
    f"select max(n) / median(n) from ({PER_NODE})": ((1, 2), (8, 12)),
    "select count_if(result = 0) / count(*) from checks": ((0.05, 0.15), (0.05, 0.15)),
    "select count(distinct message) / count(message) from checks": ((0, 0.01), (0.15, 0.6)),
    r"select count_if(regexp_matches(message, '\{\w\}')) from checks": ((0, 0), (0, 0)),
    "select count(distinct node_list) from attempts where node_count > 2": ((1, 1), (20, 1e5)),
    "select count(distinct category) from failures": ((6, 12), (6, 14)),
}


@pytest.fixture(scope="module", params=SCALES)
def cluster(request, tmp_path_factory):
    """The name of a made cluster, its logs, and the floor's tables of all days but the last."""
    logs = made.sources_of(request.param, SCALES[request.param], tmp_path_factory.mktemp("made"))
    floor.run(logs / made.BEFORE, logs / "floor.duckdb")
    with duckdb.connect(str(logs / "floor.duckdb"), read_only=True) as con:
        yield request.param, logs, con


def one(con, sql):
    return con.execute(sql).fetchall()[0]


@pytest.mark.slow
@pytest.mark.parametrize("query", HABITS)
def test_logs_are_as_the_habits_say(cluster, query):
    name, _, con = cluster
    least, most = HABITS[query][list(SCALES).index(name)]
    assert least <= one(con, query)[0] <= most


def test_the_floor_finds_what_was_planted(tmp_path):
    simulate("rsc1", tmp_path, days=10, scale=0.02, seed=3)
    floor.run(tmp_path / "sources", tmp_path / "floor.duckdb")
    truth = tmp_path / "truth" / "rsc1"
    with duckdb.connect(str(tmp_path / "floor.duckdb"), read_only=True) as con:
        found = """
            select job_id_raw, epoch(submitted_at)::bigint, epoch(started_at)::bigint, epoch(ended_at)::bigint, state,
                list_sort(nodes)
            from attempts left join node_lists using (node_list) where started_at is not null and is_terminal
        """
        planted = f"""
            select job_id_raw, submitted_epoch, started_epoch, ended_epoch, state, list_sort(nodes)
            from '{truth}/attempts.parquet' where ended_epoch is not null and started_epoch is not null
        """
        assert one(con, f"select count(*) from ({found} intersect {planted})")[0] > 1000
        assert con.execute(f"{found} except {planted}").fetchall() == []
        held = one(
            con, f"select sum(len(nodes) * (ended_epoch - started_epoch)) / 86400 from '{truth}/attempts.parquet'"
        )
        days, hours = one(con, "select sum(node_days), sum(gpu_hours) from attempts where is_terminal")
        assert days == pytest.approx(held[0], rel=1e-6)
        assert one(con, "select sum(gpu_hours) from node_days")[0] == pytest.approx(hours, rel=1e-6)
        planted_count, found_count, right = one(
            con,
            f"""
            select count(*), count(f.attempt_id), count_if(f.category = p.visible_category)
            from '{truth}/failures.parquet' p
            join attempts a on a.job_id_raw = p.job_id_raw and epoch(a.submitted_at)::bigint = p.submitted_epoch
            left join failures f using (attempt_id)
            where p.has_evidence or p.state = 'NODE_FAIL'
            """,
        )
        assert found_count == planted_count > 5
        assert right >= planted_count - 1
        tables = [name for (name,) in con.execute("select table_name from duckdb_tables()").fetchall()]
        empty = {name for name in tables if not one(con, f"select count(*) from {name}")[0]}
    assert empty <= {"crash_loops", "cooccurrence", "chance", "lost_goodput"}


def test_time_and_memory_are_those_of_the_whole_tree(tmp_path):
    holds = "import time; kept = b'x' * 150_000_000; time.sleep(0.8)\nwhile time.process_time() < 0.5: pass"
    starts = f"import subprocess, sys; kept = b'x' * 150_000_000; subprocess.run([sys.executable, '-c', {holds!r}])"
    cost = measure([sys.executable, "-c", starts], tmp_path / "log")
    assert 300 < cost.peak_mb < 450
    assert cost.wall_seconds > 0.8
    assert 0.5 <= cost.cpu_seconds < 5
    failing = [sys.executable, "-c", "print('the disk is full'); raise SystemExit(3)"]
    with pytest.raises(CommandFailed, match=r"exit status 3(.|\n)*the disk is full"):
        measure(failing, tmp_path / "log")
    assert measure(failing, tmp_path / "log", may_fail=True).exit_code == 3


@pytest.mark.slow
def test_a_quarter_is_refreshed_within_the_default_memory_and_has_the_failures_of_the_floor(tmp_path: Path):
    quarter = Fraction(1, 4)
    logs = made.sources_of("varied", quarter, tmp_path) / made.BEFORE
    home = Home.at(tmp_path / "home", logs)
    command = faultline("refresh", "--home", home.root, "--sources", home.sources)
    cost = measure(command, tmp_path / "refresh.log", {"FAULTLINE_MEMORY": ""})
    assert cost.peak_mb / 1000 < MAX_PEAK_GB
    floor.run(logs, tmp_path / "floor.duckdb")
    counts = "select count(*), (select count(*) from marts.fct_failures) from marts.fct_attempts"
    ((attempts, failures),) = ask(home, counts)
    assert attempts == pytest.approx(quarter * made.HABITS["varied"].attempts, rel=0.01)
    assert ask(tmp_path / "floor.duckdb", "select count(*) from failures") == [(pytest.approx(failures, rel=0.01),)]
