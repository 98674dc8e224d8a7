"""The floor on a small simulated cluster: what it counts is what was planted and what the logs hold."""

from pathlib import Path

import duckdb
import pytest

from assets.simulation import simulate
from tests.benchmarks import floor
from tests.benchmarks.daily import hold_back, last_day

DAYS = 10


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Path:
    """Logs and truth of 40 nodes over ten days."""
    folder = tmp_path_factory.mktemp("floor")
    simulate("rsc1", folder, days=DAYS, scale=0.02, seed=3)
    return folder


@pytest.fixture(scope="module")
def con(cluster):
    """The floor's tables, and the planted attempts and failures beside them."""
    target = cluster / "floor.duckdb"
    floor.run(cluster / "sources", target, "daily")
    connection = duckdb.connect(str(target))
    for name in ("attempts", "failures"):
        connection.execute(f"create view planted_{name} as from '{cluster / 'truth' / 'rsc1' / name}.parquet'")
    yield connection
    connection.close()


def one(con, sql):
    return con.execute(sql).fetchall()[0]


def test_attempts_are_those_that_ran(con):
    differences = """
        select job_id_raw, epoch(submitted_at)::bigint, epoch(started_at)::bigint, epoch(ended_at)::bigint, state, {}
        from attempts left join node_lists using (node_list) where is_terminal
        {} select job_id_raw, submitted_epoch, started_epoch, ended_epoch, state, list_sort(nodes)
        from planted_attempts where ended_epoch is not null and started_epoch is not null
    """
    assert one(con, f"select count(*) from ({differences.format('list_sort(nodes)', 'intersect')})")[0] > 1000
    assert (
        con.execute(
            differences.replace("where is_terminal", "where started_at is not null and is_terminal").format(
                "list_sort(nodes)", "except"
            )
        ).fetchall()
        == []
    )


def test_node_days_are_those_that_were_held(con):
    held = one(con, "select sum(len(nodes) * (ended_epoch - started_epoch)) / 86400 from planted_attempts")[0]
    assert one(con, "select sum(node_days) from attempts where is_terminal")[0] == pytest.approx(held, rel=1e-6)
    gpu_hours = one(con, "select sum(gpu_hours) from attempts where is_terminal")[0]
    assert one(con, "select sum(gpu_hours) from node_days")[0] == pytest.approx(gpu_hours, rel=1e-6)
    assert one(con, "select count(*), count(distinct node_id) from node_days") == (40 * (DAYS + 1), 40)


def test_failures_are_found_by_what_the_logs_show(con):
    planted, found, right = one(
        con,
        """
        select count(*), count(f.attempt_id), count_if(f.category = p.visible_category)
        from planted_failures p
        join attempts a on a.job_id_raw = p.job_id_raw and epoch(a.submitted_at)::bigint = p.submitted_epoch
        left join failures f using (attempt_id)
        where p.has_evidence or p.state = 'NODE_FAIL'
        """,
    )
    assert planted > 5
    assert found == planted
    assert right >= planted - 1


def test_every_table_has_rows(con):
    empty = {
        name
        for (name,) in con.execute("select table_name from duckdb_tables()").fetchall()
        if not one(con, f"select count(*) from {name}")[0]
    }
    assert empty <= {"crash_loops", "cooccurrence", "chance", "lost_goodput"}


def test_a_night_holds_back_the_last_day_of_every_kind(cluster, tmp_path):
    logs = cluster / "sources"
    assert last_day(logs) == "2023-10-10"
    add = hold_back(logs, tmp_path)
    every = {path.relative_to(logs) for path in logs.rglob("*") if path.is_file()}
    held = {path for path in every if not (tmp_path / path).exists()}
    assert {path.parent.name for path in held} == {"sacct", "health", "kernel"}
    add()
    assert {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()} == every
