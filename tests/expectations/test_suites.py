"""The suites pass on consistent and on empty tables, and name a missing table."""

import pytest

from assets.warehouse import Warehouse
from orchestration.checks.asset_checks import judge, suites
from tests.expectations.judging import failed, spoil


@pytest.fixture(scope="module")
def judged(good_warehouse):
    """The verdicts on all tables of the good warehouse, over one connection."""
    return judge(Warehouse(path=str(good_warehouse)), suites())


def test_consistent_tables_pass_over_one_connection(judged):
    assert judged.keys() == set(suites())
    assert 200 < sum(map(len, judged.values())) < 280
    for table, found in judged.items():
        assert [str(verdict) for verdict in found if not verdict.passed] == [], table
        assert len({verdict.check_name for verdict in found}) == len(found), table
        assert all(verdict.expected for verdict in found), table


def test_a_missing_table_is_a_failed_check(own_warehouse):
    spoil(own_warehouse, "drop table estimates.est_ettr_by_size")
    verdict = failed(own_warehouse, "estimates", "est_ettr_by_size")["exists"]
    assert verdict.is_blocking
    assert "the table does not exist" in str(verdict)


@pytest.mark.parametrize(
    ("schema", "table", "columns"),
    [
        ("marts", "fct_failure_evidence", "lag_seconds = -5"),
        ("marts", "fct_tickets", "closed_at = '2099-01-01'"),
        ("marts", "dim_units_in_service", "to_at = '2099-01-01'"),
        ("marts", "fct_attempts", "elapsed_seconds = -5"),
        ("estimates", "est_lost_gpu_hours", "event_count = 1, exposure = 0"),
        ("estimates", "est_hidden_failures", "odds_ratio = 4, low = 2, high = 9"),
        ("estimates", "est_rate_ratios", "ratio = 4, ratio_low = 2, ratio_high = 9"),
        ("estimates", "est_scale_tests", "beta = -0.2, beta_low = -0.3, beta_high = -0.1"),
    ],
)
def test_exceptions_to_the_rules_of_columns_are_no_violation(own_warehouse, schema, table, columns):
    spoil(own_warehouse, f"update {schema}.{table} set {columns}")
    assert failed(own_warehouse, schema, table) == {}
