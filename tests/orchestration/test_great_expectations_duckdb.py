"""Behaviour of Great Expectations and SQLAlchemy that our dialect relies on and that a newer version may change."""

import duckdb
import pytest


def test_a_validation_releases_the_file(warehouse):
    from orchestration.checks.great_expectations_duckdb import validating

    with pytest.raises(RuntimeError, match="inside"), validating(warehouse):
        raise RuntimeError("inside")
    with duckdb.connect(warehouse.path) as con:
        con.execute("create table main.written as select 1 as x")


def test_results_are_not_empty(warehouse):
    from great_expectations import expectations as gxe

    from orchestration.checks.great_expectations_duckdb import validating

    suite = [
        gxe.ExpectTableRowCountToEqual(value=9, meta={"check": "rows"}),
        gxe.ExpectColumnMaxToBeBetween(column="gpu_count", max_value=16, meta={"check": "largest"}),
    ]
    with validating(warehouse) as validator:
        results = validator.validate("raw", "sacct", suite)
    observed = {result.expectation_config.meta["check"]: result.result["observed_value"] for result in results}
    assert observed == {"rows": 9, "largest": 16}


def test_the_names_it_overrides_exist():
    from sqlalchemy.engine.default import DefaultDialect

    from orchestration.checks.great_expectations_duckdb import ReadOnlyDialect

    for name in ("do_begin", "do_commit", "do_rollback"):
        assert hasattr(DefaultDialect, name)
        assert name in vars(ReadOnlyDialect)
