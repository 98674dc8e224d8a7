"""The cluster whose checks say much, on a small scale: what its logs hold, and what the floor and a refresh find."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import duckdb
import pytest

from orchestration.settings.home import DBT_PROJECT, Home
from tests.benchmarks import floor, made
from tests.benchmarks.measuring import faultline, measure
from tests.benchmarks.targets import MAX_PEAK_MB
from tests.benchmarks.varied import FOUNDRY, MESSAGES
from tests.homes import ask

SCALE, QUARTER = Fraction(1, 50), Fraction(1, 4)
SEEDS = DBT_PROJECT / "seeds"


@pytest.fixture(scope="module")
def logs(tmp_path_factory) -> Path:
    """80,000 attempts on 40 nodes."""
    return FOUNDRY.sources_of(SCALE, tmp_path_factory.mktemp("varied"))


@pytest.fixture(scope="module")
def con(logs):
    """The floor's tables of all days but the last."""
    target = logs / "floor.duckdb"
    floor.run(logs / made.BEFORE, target, FOUNDRY.name)
    connection = duckdb.connect(str(target))
    yield connection
    connection.close()


def one(con, sql):
    return con.execute(sql).fetchall()[0]


def test_there_are_as_many_of_each_as_the_scale_says(con):
    assert one(con, "select count(*) from attempts")[0] == pytest.approx(SCALE * FOUNDRY.attempts, rel=0.01)
    assert one(con, "select count(*) from checks")[0] == pytest.approx(SCALE * 2_900_000, rel=0.1)
    assert one(con, "select count(*) from kernel_events where kind = 'xid'")[0] == pytest.approx(6_000, rel=0.2)


def test_there_is_a_wording_for_every_rule(con):
    filled = """
        select c.check_name, c.origin, if(result = 2, 'CRITICAL: ', 'WARN: ') || replace(replace(m.message,
            '{k}/{k}/0', '3/4/0'), '{c}', c.check_name) as text
        from read_csv(?, delim = ';', quote = '') m
        join (select check_key as check_name, origin from read_csv(?)) c on m.check_name in ('*', c.check_name)
    """
    unmatched = con.execute(
        f"select r.check_key, r.rule_order from read_csv(?) r where not exists (from ({filled}) t"
        " where if(r.check_key = 'nhc', t.origin = 'nhc', t.check_name = r.check_key)"
        " and regexp_matches(t.text, r.pattern))",
        [str(SEEDS / "health_check_rules.csv"), str(MESSAGES), str(SEEDS / "health_checks.csv")],
    ).fetchall()
    assert unmatched == []


def test_every_check_of_the_seeds_reports(con):
    missing = con.execute(
        "select check_key from read_csv(?) where check_key not in (select check_name from checks)",
        [str(SEEDS / "health_checks.csv")],
    ).fetchall()
    assert missing == []


def test_messages_are_many_and_nothing_is_left_to_fill_in(con):
    unfilled = r"count_if(regexp_matches(message, '\{\w\}'))"
    distinct, every, unfilled = one(con, f"select count(distinct message), count(message), {unfilled} from checks")
    assert 0.15 < distinct / every < 0.6
    assert unfilled == 0


def test_warnings_stay_without_recovery_and_recoveries_come_after_nothing(con):
    shares = one(
        con,
        """
        select count_if(result = 1 and next is distinct from 0) / count_if(result = 1 and next is distinct from 1),
            count_if(result = 0 and previous is null or previous = 0) / count_if(result = 0)
        from (select result, lead(result) over stream as next, lag(result) over stream as previous
            from checks window stream as (partition by node_id, check_name order by observed_at))
        """,
    )
    assert min(shares) > 0.2


def test_large_jobs_hold_irregular_lists_of_nodes(con):
    wide = "from attempts join node_lists using (node_list) where node_count > 2"
    assert one(con, f"select count(*) = count_if(node_count = requested_node_count) {wide}") == (True,)
    assert one(con, f"select count(distinct node_list) > 20, max(node_count) >= 5 {wide}") == (True, True)
    lists = con.execute(f"select node_list, nodes {wide} limit 200").fetchall()
    assert any(re.search(r"\[[\d,]+-", text) for text, _ in lists)
    assert all(len(set(nodes)) == len(nodes) for _, nodes in lists)


def test_no_gpu_is_given_to_two_jobs(con):
    most = one(con, "select max(gpu_hours) from node_days")[0]
    assert 20 * 8 < most <= 24 * 8 + 1e-6


@pytest.mark.parametrize("kind", ["sacct/sacct.psv", "health/health.jsonl", "slurmctld/slurmctld.log"])
def test_some_lines_are_damaged(logs, kind):
    lines = (logs / made.BEFORE / FOUNDRY.cluster / kind).read_bytes().splitlines()
    assert sum(line == other for line, other in pairwise(lines)) / len(lines) == pytest.approx(0.001, rel=0.5)
    assert lines.count(b"")
    assert any(b"\xe9" in line for line in lines)


def test_one_user_has_a_third_of_the_attempts_and_every_other_far_less(con):
    shares = con.execute(
        "select count(*) / sum(count(*)) over () from attempts group by user_name order by 1 desc"
    ).fetchall()
    assert shares[0][0] == pytest.approx(1 / 3, abs=0.03)
    assert shares[1][0] < 0.2
    assert len(shares) > 500


def test_one_node_has_ten_times_the_failed_checks_of_others(con):
    per_node = "select count(*) as n from checks where result <> 0 group by node_id"
    assert one(con, f"select max(n) / median(n) from ({per_node})")[0] == pytest.approx(10, rel=0.2)


@pytest.mark.slow
def test_a_quarter_is_refreshed_within_the_default_memory_and_has_the_failures_of_the_floor(tmp_path):
    logs = FOUNDRY.sources_of(QUARTER, tmp_path) / made.BEFORE
    home = Home.at(tmp_path / "home", logs)
    command = faultline("refresh", "--home", home.root, "--sources", home.sources)
    cost = measure(command, tmp_path / "refresh.log", {"FAULTLINE_MEMORY": ""})
    assert cost.peak_mb < MAX_PEAK_MB
    floor.run(logs, tmp_path / "floor.duckdb", FOUNDRY.name)
    counts = "select count(*), (select count(*) from marts.fct_failures) from marts.fct_attempts"
    ((attempts, failures),) = ask(home, counts)
    assert attempts == pytest.approx(QUARTER * FOUNDRY.attempts, rel=0.01)
    assert ask(tmp_path / "floor.duckdb", "select count(*) from failures") == [(pytest.approx(failures, rel=0.01),)]
