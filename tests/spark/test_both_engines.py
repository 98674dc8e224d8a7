"""The dbt project gives the same marts on DuckDB and on Spark, row by row, over the same raw tables.

The test needs Java and `.venv-spark`, and takes minutes: `make spark`.
"""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import duckdb
import pytest

from assets.raw.parquet import export_tables
from assets.simulation import simulate
from orchestration.dbt.build import manifest_of
from tests.conftest import new_home, refresh
from tests.minimal.cluster import write_all
from tests.spark import engines

pytestmark = pytest.mark.spark

DAYS = 60
"""Long enough for preempted work, outages, tickets, and for jobs that crash in a loop."""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The genuine capture, two simulated clusters and two with recorded failures, refreshed on DuckDB."""
    if not engines.DBT_ON_SPARK.exists() or shutil.which("java") is None:
        pytest.fail("dbt on Spark or Java is missing: run `make spark`, which sets both up")
    home = new_home(tmp_path_factory.mktemp("engines"))
    simulate("demo", home.root, days=DAYS)
    write_all(home.sources, ["failures-and-jobs", "failures-of-gpus"])
    fail_an_unknown_check(home.sources / "demo-llm" / "health")
    lose_ten_days(home.sources / "demo-vision" / "sacct")
    refresh(home)
    return home


def fail_an_unknown_check(folder: Path) -> None:
    """Add a failed result of a check with a name of the site."""
    with gzip.open(min(folder.iterdir()), "rt", encoding="utf-8") as lines:
        record = json.loads(next(lines))
    record["int"]["result"] = 2
    record["normal"]["health_check"] = "site fan speed"
    (folder / "own.jsonl").write_text(f"{json.dumps(record)}\n", encoding="utf-8")


def lose_ten_days(folder: Path) -> None:
    """Delete the accounting of ten days: a gap."""
    for file in sorted(folder.glob("*.psv*"))[20:30]:
        file.unlink()


@pytest.fixture(scope="module")
def spark(home, tmp_path_factory):
    """Spark's folder after a build over the exported raw tables, with the status of every node."""
    folder = tmp_path_factory.mktemp("spark")
    with duckdb.connect(str(home.working_file), read_only=True) as con:
        export_tables(con, folder / "raw")
    statuses = engines.build_on_spark(folder / "raw", folder, cwd=folder / "somewhere")
    return folder, statuses


@pytest.fixture(scope="module")
def marts(home):
    return engines.marts_of(manifest_of(home))


@pytest.fixture(scope="module")
def con(home, spark, marts):
    """DuckDB with its own marts as schema `marts` and Spark's as `on_spark`."""
    con = duckdb.connect()
    con.execute("set timezone = 'UTC'")
    con.execute(f"attach '{home.build_file}' as built (read_only)")
    con.execute("create schema marts")
    for mart in marts:
        con.execute(f"create view marts.{mart} as from built.marts.{mart}")
    engines.read_marts(con, spark[0], marts)
    yield con
    con.close()


def test_every_seed_model_and_test_passes_on_spark(spark):
    statuses = spark[1]
    assert {node: status for node, status in statuses.items() if status not in {"success", "pass"}} == {}
    assert {node.split(".")[0] for node in statuses} == {"seed", "model", "test"}


def test_every_mart_is_the_same_on_both_engines(con, marts):
    assert len(marts) > 25
    found = [engines.compare(con, "marts", "on_spark", mart) for mart in marts]
    assert [difference for difference in found if difference] == []


def test_no_mart_is_empty(con, marts):
    assert [mart for mart in marts if con.execute(f"select count(*) from on_spark.{mart}").fetchone() == (0,)] == []


def test_spark_leaves_nothing_where_it_was_started(spark):
    assert list((spark[0] / "somewhere").iterdir()) == []
