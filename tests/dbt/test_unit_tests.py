"""dbt's tests of the code: subtle rules on a few hand-made rows, and rules that no input can break."""

import json

import duckdb
import pytest

from orchestration.dbt.build import TESTS_OF_CODE
from orchestration.settings.home import DBT_PROJECT
from tests.dbt.on_a_copy import copy_of, dbt


@pytest.fixture(scope="module")
def results(testbed_home, tmp_path_factory):
    """Status and message of every unit test, and of every test with the tag."""
    home = copy_of(testbed_home, tmp_path_factory.mktemp("dbt"))
    done = dbt(home, "test", "--select", "test_type:unit", TESTS_OF_CODE)
    report = home.root / "run_results.json"
    assert report.exists(), done.stdout
    return {
        result["unique_id"].removeprefix("unit_test.faultline."): (result["status"], result["message"])
        for result in json.loads(report.read_text())["results"]
    }


def test_every_rule_holds(results):
    assert {name: message for name, (status, message) in results.items() if status != "pass"} == {}


def test_what_no_input_can_break_is_judged_here_and_not_in_each_refresh(results, testbed_home):
    of_code = {name.split(".")[2] for name in results if name.startswith("test.")}
    assert of_code >= {f"rows_of_{file.stem}_are_valid" for file in (DBT_PROJECT / "seeds").glob("*.csv")}
    assert of_code >= {"rows_of_int_attempts_are_valid", "assert_shares_sum_to_one"}
    with duckdb.connect(str(testbed_home.working_file), read_only=True) as con:
        judged = {name for (name,) in con.execute("select check_name from ops.checks").fetchall()}
    assert not of_code & judged
    # It looks up a seed, but it judges a cluster's own settings.
    assert "rows_of_stg_config__rules_are_valid" in judged
    assert len([name for name in judged if name.startswith("assert_")]) <= 10
