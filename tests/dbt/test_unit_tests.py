"""dbt's tests of the code: each subtle rule on a handful of hand-made rows, and what must hold of seeds."""

import json

import duckdb
import pytest

from orchestration.dbt.build import TESTS_OF_SEEDS
from orchestration.home import DBT_PROJECT
from tests.dbt.on_a_copy import copy_of, dbt


@pytest.fixture(scope="module")
def results(testbed_home, tmp_path_factory):
    """Status and message of every unit test, and of every test of a seed."""
    home = copy_of(testbed_home, tmp_path_factory.mktemp("dbt"))
    done = dbt(home, "test", "--select", "test_type:unit", TESTS_OF_SEEDS)
    report = home.root / "run_results.json"
    assert report.exists(), done.stdout
    return {
        result["unique_id"].removeprefix("unit_test.faultline."): (result["status"], result["message"])
        for result in json.loads(report.read_text())["results"]
    }


def test_every_rule_holds(results):
    assert {name: message for name, (status, message) in results.items() if status != "pass"} == {}


def test_seeds_are_judged_here_and_not_in_each_refresh(results, testbed_home):
    of_seeds = {name.split(".")[2] for name in results if name.startswith("test.")}
    assert of_seeds >= {f"rows_of_{file.stem}_are_valid" for file in (DBT_PROJECT / "seeds").glob("*.csv")}
    with duckdb.connect(str(testbed_home.working_file), read_only=True) as con:
        judged = {name for (name,) in con.execute("select check_name from ops.checks").fetchall()}
    assert not of_seeds & judged
    # It looks up a seed, but what it judges are a cluster's own settings.
    assert "rows_of_stg_config__rules_are_valid" in judged
