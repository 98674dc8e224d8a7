"""The suites pass on consistent and on empty tables, and say what is missing where they cannot be applied."""

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


def test_a_missing_column_is_a_failed_check(own_warehouse):
    spoil(own_warehouse, "alter table marts.fct_attempts drop column has_ended")
    (found,) = failed(own_warehouse, "marts", "fct_attempts").values()
    assert found.check_name == "ends_complete"
    assert 'could not be computed: Binder Error: Referenced column "has_ended"' in found.observed


def test_many_violations_are_counted_and_a_few_shown(own_warehouse):
    spoil(own_warehouse, "update raw.sacct set elapsed_seconds = -1")
    observed = failed(own_warehouse, "raw", "sacct")["numbers_possible"].observed
    assert observed.count("elapsed_seconds -1") == 3
    assert observed.endswith("and 4 more")


@pytest.mark.parametrize(("schema", "table"), suites())
def test_an_empty_table_crashes_nothing(own_warehouse, schema, table):
    spoil(own_warehouse, f"delete from {schema}.{table}")
    assert not [
        v for v in judge(own_warehouse, [(schema, table)])[schema, table] if "could not be computed" in v.observed
    ]


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


def test_a_table_without_clusters_fails_for_all(own_warehouse):
    spoil(own_warehouse, "update estimates.est_ettr_grid set ettr_expected = 1.2")
    (verdict,) = failed(own_warehouse, "estimates", "est_ettr_grid").values()
    assert (verdict.check_name, verdict.cluster_id, verdict.is_blocking) == ("shares_in_0_1", None, True)
