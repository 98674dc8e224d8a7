"""Behaviour of Great Expectations and SQLAlchemy that our dialect needs and that a newer version may change."""

import duckdb
import pytest

from assets.expectations.rules import no_row
from assets.warehouse import one_value


def test_a_validation_releases_the_file(warehouse):
    from orchestration.checks.great_expectations_duckdb import validating

    with pytest.raises(RuntimeError, match="inside"), validating(warehouse):
        raise RuntimeError("inside")
    with duckdb.connect(warehouse.path) as con:
        con.execute("create table main.written as select 1 as x")


def test_rules_are_judged_together_and_each_alone_where_one_cannot_be(warehouse):
    from orchestration.checks.great_expectations_duckdb import validating

    rules = [
        no_row("large", "gpu_count > 8", ["gpu_count"], "no job has more than 8 GPUs"),
        no_row("negative", "gpu_count < 0", ["gpu_count"], "no job has a negative number of GPUs"),
    ]
    broken = no_row("broken", "no_such_column > 0", ["gpu_count"], "nothing")
    with duckdb.connect(warehouse.path) as con:
        large = one_value(con, "select count(*) from raw.sacct where gpu_count > 8")
    with validating(warehouse) as validator:
        together = validator.validate("raw", "sacct", rules)
    with validating(warehouse) as validator:
        alone = validator.validate("raw", "sacct", [*rules, broken])
    assert large > 0
    assert [len(together), len(alone)] == [1, 3]
    for results in (together, alone):
        (row,) = (row for result in results for row in result.result.get("details", {}).get("unexpected_rows", []))
        assert row["check_name"] == "large"
        assert sum(cluster["finding_count"] for cluster in row["clusters"]) == large
