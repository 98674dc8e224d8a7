"""Checks write rows to ops.checks and release the file; they stop downstream steps if no cluster is left."""

import dagster as dg
import pytest

from assets.bad_clusters.left_out import failing_clusters, record_failures
from orchestration.checks import verdicts
from orchestration.checks.asset_checks import (
    all_checks,
    checks_of,
    failed_checks,
    judge,
    record_verdicts,
    suites,
)
from tests.homes import ask, change


def materialize(warehouse, schema="estimates", table="est_mttf_by_size"):
    """Run a job of one judged asset, its check and a downstream report."""
    key = dg.AssetKey([schema, table])

    @dg.asset(key=key)
    def judged() -> None: ...

    @dg.asset(key=["report", "page"], deps=[key])
    def page() -> None: ...

    return dg.materialize(
        [judged, page, checks_of("checks", [(schema, table)])], resources={"warehouse": warehouse}, raise_on_error=False
    )


def is_published(result):
    return dg.AssetKey(["report", "page"]) in {event.asset_key for event in result.get_asset_materialization_events()}


def test_a_passing_check_lets_the_flow_go_on(warehouse):
    result = materialize(warehouse)
    assert result.success
    assert is_published(result)
    rows = ask(warehouse, "select run_id, table_name, passed, is_blocking, observed, expected from ops.checks")
    assert len(rows) >= 3
    for run_id, table_name, passed, is_blocking, observed, expected in rows:
        assert (run_id, table_name, passed, is_blocking) == (result.run_id, "estimates.est_mttf_by_size", True, True)
        assert observed
        assert expected


TOO_HIGH = "update estimates.est_mttf_by_size set mttf_hours_low = 999"


def test_what_fails_for_one_cluster_is_kept_for_it_and_stops_nothing(warehouse):
    change(warehouse, f"{TOO_HIGH} where cluster_id = 'alpha'")
    result = materialize(warehouse)
    assert result.success
    assert is_published(result)
    (evaluation,) = result.get_asset_check_evaluations()
    assert not evaluation.passed
    assert "values_inside_limits" in evaluation.description
    with warehouse.reading() as con:
        assert failed_checks(con, result.run_id) == []
        assert con.execute("select cluster_id, is_blocking from ops.checks where not passed").fetchall() == [
            ("alpha", True)
        ]
        ((line,),) = failing_clusters(con, result.run_id).values()
        assert list(failing_clusters(con, result.run_id)) == ["alpha"]
    assert line.startswith("estimates: est_mttf_by_size values_inside_limits: cluster_id alpha, gpu_size_bin 16")
    assert "mttf_hours_low 999.0" in line


@pytest.mark.parametrize(
    ("table", "changes", "clusters"),
    [
        (("estimates", "est_mttf_by_size"),
         ("insert into estimates.est_mttf_by_size by name select * replace ('beta' as cluster_id) "
          "from estimates.est_mttf_by_size where cluster_id = 'alpha'", TOO_HIGH), {"alpha", "beta"}),
        (("marts", "fct_attempts"), ("alter table marts.fct_attempts drop column has_ended",), {None}),
    ],
    ids=["every cluster", "no cluster"],
)  # fmt: skip
def test_what_fails_for_every_cluster_or_concerns_none_stops_what_is_downstream(warehouse, table, changes, clusters):
    change(warehouse, *changes)
    result = materialize(warehouse, *table)
    assert not result.success
    assert not is_published(result)
    with warehouse.reading() as con:
        assert {verdict.cluster_id for verdict in failed_checks(con, result.run_id)} == clusters


def test_rows_of_a_cluster_that_failed_before_are_judged_no_more(warehouse):
    change(warehouse, f"{TOO_HIGH} where cluster_id = 'alpha'")
    (found,) = judge(warehouse, [("estimates", "est_mttf_by_size")]).values()
    with warehouse.writing() as con:
        record_failures(con, "run", "sources", {"alpha": ["no accounting"]})
        record_verdicts(con, "run", "estimates", found)
        assert failing_clusters(con, "run") == {"alpha": ["no accounting"]}
        assert con.execute("select count(*) from ops.checks where not passed").fetchall() == [(0,)]


def test_odd_rows_within_the_share_are_a_warning_and_beyond_it_the_cluster_fails(warehouse):
    odd = "update raw.sacct set elapsed_seconds = -5 where cluster_id = 'alpha' and job_id_raw"
    change(warehouse, f"{odd} = 3")
    (found,) = judge(warehouse, [("raw", "sacct")]).values()
    assert {verdict.is_blocking for verdict in found if not verdict.passed} == {False}
    change(warehouse, f"{odd} in (3, 4)")
    (found,) = judge(warehouse, [("raw", "sacct")]).values()
    assert [(check.cluster_id, check.check_name) for check in found if not check.passed and check.is_blocking] == [
        ("alpha", "numbers_possible")
    ]
    change(warehouse, "update raw.clusters set quarantine_max_share = 0.9")
    (found,) = judge(warehouse, [("raw", "sacct")]).values()
    assert not [verdict for verdict in found if not verdict.passed and verdict.is_blocking]


def test_the_accounts_of_the_files_are_judged_after_the_last_raw_asset(warehouse):
    change(warehouse, "update ops.files set loaded = loaded + 1 where path = 'beta/sacct/all.psv'")
    result = materialize(warehouse, "ops", "files")
    assert result.success
    with warehouse.reading() as con:
        ((line,),) = failing_clusters(con, result.run_id).values()
    assert line.startswith("raw: ops.files identity: path beta/sacct/all.psv, lines_in 3, loaded 3, skipped 1")


def test_a_retried_check_leaves_one_row_per_rule(warehouse):
    result = materialize(warehouse, "raw", "nodes")
    before = ask(warehouse, "select count(*) from ops.checks")
    (again,) = judge(warehouse, [("raw", "nodes")]).values()
    with warehouse.writing() as con:
        verdicts.record(con, result.run_id, again)
        assert con.execute("select count(*) from ops.checks").fetchall() == before


def test_every_suite_is_a_blocking_check_of_its_table():
    specs = [spec for check in all_checks([]) for spec in check.check_specs]
    assert sorted(tuple(spec.asset_key.path) for spec in specs) == sorted(suites())
    assert len(specs) > 15 and all(spec.blocking for spec in specs)


def test_a_verdict_quotes_no_secret():
    verdict = verdicts.Verdict("raw.sacct", "state_known", False, True, "State 'TOKEN=hunter2'", "known")
    assert verdict.observed == "State 'TOKEN=***'"
    assert "hunter2" not in str(verdict)
