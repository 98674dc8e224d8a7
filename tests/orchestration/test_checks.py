"""Checks stop what is downstream, leave their rows in ops.checks and release the file; warnings only speak."""

import json
import subprocess
import sys
from datetime import datetime

import dagster as dg
import duckdb
import pytest

from assets.warehouse import Warehouse
from orchestration import verdicts
from orchestration.checks import (
    all_checks,
    checks_of,
    failed_checks,
    judge,
    judged_asset,
    record_dbt_results,
    suites,
    warnings_of,
)
from tests.expectations.small_warehouse import build


@pytest.fixture
def warehouse(tmp_path):
    path = tmp_path / "faultline.duckdb"
    build(path)
    return Warehouse(path=str(path))


def spoil(warehouse, statement):
    with warehouse.writing() as con:
        con.execute(statement)


def materialize(warehouse, schema="estimates", table="est_mttf_by_size"):
    """Run a job of one judged asset, its check and a report downstream of it."""
    key = judged_asset(schema, table)

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
    with warehouse.reading() as con:
        rows = con.execute(
            "select run_id, table_name, passed, is_blocking, observed, expected from ops.checks"
        ).fetchall()
    assert len(rows) >= 8
    for run_id, table_name, passed, is_blocking, observed, expected in rows:
        assert (run_id, table_name, passed, is_blocking) == (result.run_id, "estimates.est_mttf_by_size", True, True)
        assert observed
        assert expected


def test_a_blocking_check_stops_what_is_downstream(warehouse):
    spoil(warehouse, "update estimates.est_mttf_by_size set mttf_hours_low = 999 where cluster_id = 'alpha'")
    result = materialize(warehouse)
    assert not result.success
    assert not is_published(result)
    (evaluation,) = result.get_asset_check_evaluations()
    assert "mttf_hours_inside_interval" in evaluation.description
    with warehouse.reading() as con:
        (line,) = [str(verdict) for verdict in failed_checks(con, result.run_id)]
    assert line.startswith("estimates: est_mttf_by_size mttf_hours_inside_interval: cluster_id alpha, gpu_size_bin 16")
    assert "mttf_hours_low 999.0" in line


def test_a_warning_lets_the_flow_go_on(warehouse):
    spoil(warehouse, "update raw.tickets set disposition = 'unknown_node'")
    result = materialize(warehouse, "raw", "tickets")
    assert result.success
    assert is_published(result)
    (evaluation,) = result.get_asset_check_evaluations()
    assert not evaluation.passed
    with warehouse.reading() as con:
        assert failed_checks(con, result.run_id) == []
        assert [verdict.check_name for verdict in warnings_of(con, result.run_id)] == ["nodes_known"]


def test_the_accounts_of_the_files_block_after_the_last_raw_asset(warehouse):
    spoil(warehouse, "update ops.files set loaded = loaded + 1 where path = 'beta/sacct/all.psv'")
    result = materialize(warehouse, "ops", "files")
    assert not result.success
    assert not is_published(result)
    with warehouse.reading() as con:
        (line,) = [str(verdict) for verdict in failed_checks(con, result.run_id)]
    assert line.startswith("raw: ops.files identity: path beta/sacct/all.psv, lines_in 3, loaded 3, skipped 1")


def test_a_retried_check_leaves_one_row_per_rule(warehouse):
    result = materialize(warehouse, "raw", "nodes")
    with warehouse.reading() as con:
        before = con.execute("select count(*) from ops.checks").fetchall()
    (again,) = judge(warehouse, [("raw", "nodes")]).values()
    with warehouse.writing() as con:
        verdicts.record(con, result.run_id, again)
        assert con.execute("select count(*) from ops.checks").fetchall() == before


def test_raw_is_judged_when_it_is_settled():
    assert {judged_asset(schema, table) for schema, table in suites() if schema in ("raw", "ops")} == {
        dg.AssetKey(["raw", "node_names"])
    }


def test_every_suite_has_a_blocking_check():
    specs = [spec for check in all_checks([]) for spec in check.check_specs]
    assert len(specs) == len(suites()) > 15
    assert all(spec.blocking for spec in specs)
    assert len({spec.key for spec in specs}) == len(specs)


def test_estimates_that_others_read_are_judged_alone_and_the_others_together():
    @dg.asset(key=["estimates", "est_mttf_by_size"])
    def read() -> None: ...

    @dg.asset(key=["estimates", "est_mttf_projections"], deps=[read])
    def reader() -> None: ...

    steps = {check.node_def.name: len(list(check.check_specs)) for check in all_checks([read, reader])}
    estimates = sum(schema == "estimates" for schema, _ in suites())
    assert steps["estimates_est_mttf_by_size_expectations"] == 1
    assert steps["estimates_expectations"] == estimates - 1
    assert set(steps) == {
        "estimates_est_mttf_by_size_expectations",
        "estimates_expectations",
        "raw_expectations",
        "marts_expectations",
    }


def test_a_part_of_a_stage_can_be_judged(warehouse):
    @dg.asset(key=["marts", "fct_attempts"])
    def attempts() -> None: ...

    @dg.asset(key=["marts", "fct_failures"])
    def failures() -> None: ...

    tables = [("marts", "fct_attempts"), ("marts", "fct_failures")]
    selection = dg.AssetSelection.assets(attempts) | dg.AssetSelection.checks_for_assets(attempts)
    result = dg.materialize(
        [attempts, failures, checks_of("marts_checks", tables)],
        resources={"warehouse": warehouse},
        selection=selection,
    )
    assert [one.check_name for one in result.get_asset_check_evaluations()] == ["marts_fct_attempts_expectations"]


def test_definitions_do_not_import_great_expectations():
    code = "import sys; from orchestration.checks import all_checks; all_checks([]); print(sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'assets.expectations'" in done.stdout
    assert "'great_expectations'" not in done.stdout


@pytest.fixture
def artifacts(tmp_path):
    """dbt's artifacts of a build with a passing, a failing, a warning and a skipped test, and a model that broke."""
    model = "model.faultline.fct_attempts"

    def test(name, **config):
        return {
            "name": name, "schema": "dbt_test__audit", "attached_node": model, "depends_on": {"nodes": [model]},
            "column_name": "attempt_id", "test_metadata": {"name": name.split("_")[0], "kwargs": {}}, "config": config,
            "description": "",
        }  # fmt: skip

    manifest = {
        "nodes": {
            model: {"name": "fct_attempts", "schema": "marts"},
            "test.faultline.unique_attempts": test("unique_attempts", severity="ERROR"),
            "test.faultline.present_attempts": test("present_attempts", severity="error"),
            "test.faultline.warned_attempts": test("warned_attempts", severity="warn"),
            "test.faultline.skipped_attempts": test("skipped_attempts"),
        },
        "unit_tests": {
            "unit_test.faultline.fct_attempts.window_edges": {
                "name": "window_edges", "model": "fct_attempts", "schema": "marts", "depends_on": {"nodes": [model]},
                "config": {}, "description": "Both edges of the window count.",
            }
        },
    }  # fmt: skip
    results = [
        (model, "success", None),
        ("test.faultline.unique_attempts", "fail", "Got 2 results, configured to fail if != 0"),
        ("test.faultline.present_attempts", "pass", None),
        ("test.faultline.warned_attempts", "warn", "Got 1 result, configured to warn if != 0"),
        ("test.faultline.skipped_attempts", "skipped", None),
        ("unit_test.faultline.fct_attempts.window_edges", "pass", None),
    ]

    def write(generated_at="2026-02-01T00:00:00.000000Z", results=results):
        (tmp_path / "manifest.json").write_text(json.dumps(manifest))
        (tmp_path / "run_results.json").write_text(
            json.dumps(
                {
                    "metadata": {"generated_at": generated_at},
                    "results": [
                        {
                            "unique_id": unique_id,
                            "status": status,
                            "message": message,
                            "compiled_code": "select cluster_id, count(*) as n from raw.nodes group by 1 -- why",
                        }
                        for unique_id, status, message in results
                    ],
                }
            )
        )
        return tmp_path / "run_results.json", tmp_path / "manifest.json"

    return write


@pytest.fixture
def con(warehouse):
    with warehouse.writing() as con:
        yield con


def test_dbt_results_stand_beside_the_others(con, artifacts):
    assert record_dbt_results(con, "run-1", *artifacts()) == 4
    rows = con.execute(
        "select table_name, check_name, passed, is_blocking, expected from ops.checks order by check_name"
    ).fetchall()
    assert rows == [
        ("marts.fct_attempts", "present_attempts", True, True, "present of attempt_id"),
        ("marts.fct_attempts", "unique_attempts", False, True, "unique of attempt_id"),
        ("marts.fct_attempts", "warned_attempts", False, False, "warned of attempt_id"),
        ("marts.fct_attempts", "window_edges", True, True, "Both edges of the window count."),
    ]
    (line,) = [str(verdict) for verdict in failed_checks(con, "run-1")]
    assert line.startswith(
        "marts: fct_attempts unique_attempts: Got 2 results, configured to fail if != 0; first: cluster_id alpha, n 2 ("
    )


def test_a_model_that_does_not_build_is_a_failed_check(con, artifacts):
    broken = [("model.faultline.fct_attempts", "error", "Runtime Error\n  Binder Error: no column x")]
    assert record_dbt_results(con, "run-1", *artifacts(results=broken)) == 1
    (verdict,) = failed_checks(con, "run-1")
    assert (verdict.check_name, verdict.observed) == ("builds", "Runtime Error Binder Error: no column x")


def test_results_of_an_earlier_build_are_not_this_runs(con, artifacts):
    started = con.execute("select started_at from ops.runs").fetchall()[0][0]
    assert started == datetime(2026, 1, 3)
    assert record_dbt_results(con, "run-1", *artifacts(generated_at="2026-01-02T23:59:59Z")) == 0
    assert con.execute("select count(*) from ops.checks").fetchall() == [(0,)]


def test_a_build_without_results_records_nothing(con, tmp_path):
    assert record_dbt_results(con, "run-1", tmp_path / "run_results.json", tmp_path / "manifest.json") == 0


class TestTheDialect:
    """Private and surprising names that a newer version may change."""

    def test_a_validation_releases_the_file(self, warehouse):
        from orchestration.great_expectations_duckdb import validating

        with pytest.raises(RuntimeError, match="inside"), validating(warehouse):
            raise RuntimeError("inside")
        with duckdb.connect(warehouse.path) as con:
            con.execute("create table main.written as select 1 as x")

    def test_results_are_not_empty(self, warehouse):
        from great_expectations import expectations as gxe

        from orchestration.great_expectations_duckdb import validating

        suite = [
            gxe.ExpectTableRowCountToEqual(value=9, meta={"check": "rows"}),
            gxe.ExpectColumnMaxToBeBetween(column="gpu_count", max_value=16, meta={"check": "largest"}),
        ]
        with validating(warehouse) as validator:
            results = validator.validate("raw", "sacct", suite)
        observed = {result.expectation_config.meta["check"]: result.result["observed_value"] for result in results}
        assert observed == {"rows": 9, "largest": 16}

    def test_the_names_it_overrides_exist(self):
        from sqlalchemy.engine.default import DefaultDialect

        from orchestration.great_expectations_duckdb import ReadOnlyDialect

        for name in ("do_begin", "do_commit", "do_rollback"):
            assert hasattr(DefaultDialect, name)
            assert name in vars(ReadOnlyDialect)
