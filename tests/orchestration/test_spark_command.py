"""Marts of another engine: either all of them are imported or none."""

import shutil
from contextlib import nullcontext

import duckdb
import pytest

from assets.warehouse import one_value
from orchestration import spark
from orchestration.read_commands.published import ReadingError
from orchestration.settings.home import Home
from tests.homes import held_lock


@pytest.fixture
def home(testbed_home, tmp_path):
    """A copy of a refreshed home."""
    home = Home.at(tmp_path / "home")
    home.work.mkdir(parents=True)
    shutil.copy(testbed_home.working_file, home.working_file)
    shutil.copy(testbed_home.build_file, home.build_file)
    return home


@pytest.fixture
def built(testbed_home, tmp_path):
    """A folder of Parquet per mart, each with its first row twice and no other."""
    with duckdb.connect(str(testbed_home.build_file), read_only=True) as con:
        for (mart,) in con.execute(spark.MARTS).fetchall():
            (tmp_path / "marts.db" / mart).mkdir(parents=True)
            rows = f"(from marts.{mart} limit 1)"
            con.execute(
                f"copy ({rows} union all {rows}) to '{tmp_path}/marts.db/{mart}/part-0.parquet' (format parquet)"
            )
            (tmp_path / "marts.db" / mart / "_SUCCESS").touch()
    return tmp_path / "marts.db"


def counts(home):
    with duckdb.connect(str(home.build_file), read_only=True) as con:
        marts = [mart for (mart,) in con.execute(spark.MARTS).fetchall()]
        return {mart: one_value(con, f"select count(*) from marts.{mart}") for mart in marts}


@pytest.mark.parametrize("wrong", ["fct_failures", "as it was", "already running"])
def test_a_mart_that_is_missing_or_does_not_fit_or_a_refresh_that_runs_stops_all(home, built, wrong):
    before = counts(home)
    if wrong == "fct_failures":
        shutil.rmtree(built / wrong)
    elif wrong == "as it was":
        duckdb.sql(f"copy (select 1 as other) to '{built}/fct_tickets/part-0.parquet' (format parquet)")
    holding = held_lock(home) if wrong == "already running" else nullcontext()
    with holding, pytest.raises(ReadingError, match=wrong):
        spark.import_marts(home, built)
    assert counts(home) == before
