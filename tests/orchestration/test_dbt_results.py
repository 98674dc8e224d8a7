"""Results of dbt's tests are written to ops.checks, like those of the suites."""

import json

import pytest

from assets.bad_clusters.left_out import failing_clusters
from orchestration.checks.asset_checks import failed_checks
from orchestration.dbt.results import record_dbt_results


@pytest.fixture
def artifacts(tmp_path):
    """dbt's artifacts of a build with a passing, a failing, a warning and a skipped test, and a failed model."""
    model = "model.faultline.fct_attempts"

    def test(name, **config):
        return {
            "name": name, "schema": "dbt_test__audit", "attached_node": model, "depends_on": {"nodes": [model]},
            "test_metadata": {"name": "rows_are_valid", "kwargs": {"required": ["attempt_id"]}}, "config": config,
            "description": "",
        }  # fmt: skip

    manifest = {
        "nodes": {
            model: {"name": "fct_attempts", "schema": "marts"},
            "test.faultline.unique_attempts": test("unique_attempts", severity="WARN"),
            "test.faultline.present_attempts": test("present_attempts", severity="error"),
            "test.faultline.warned_attempts": test("warned_attempts", severity="warn", meta={"warns": True}),
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
        ("test.faultline.unique_attempts", "warn", "Got 2 results, configured to warn if != 0"),
        ("test.faultline.present_attempts", "pass", None),
        ("test.faultline.warned_attempts", "warn", "Got 1 result, configured to warn if != 0"),
        ("test.faultline.skipped_attempts", "skipped", None),
        ("unit_test.faultline.fct_attempts.window_edges", "pass", None),
    ]

    def write(generated_at="2026-02-01T00:00:00.000000Z", results=results):
        sql = "select cluster_id, count(*) as n from raw.nodes group by 1 -- why"
        names = ("unique_id", "status", "message", "compiled_code")
        found = [dict(zip(names, (*result, sql), strict=True)) for result in results]
        run_results = {"metadata": {"generated_at": generated_at}, "results": found}
        (tmp_path / "run_results.json").write_text(json.dumps(run_results))
        (tmp_path / "manifest.json").write_text(json.dumps(manifest))
        return tmp_path / "run_results.json", tmp_path / "manifest.json"

    return write


@pytest.fixture
def con(warehouse):
    with warehouse.writing() as con:
        yield con


def test_dbt_results_stand_beside_the_others_by_cluster(con, artifacts):
    assert record_dbt_results(con, "run-1", *artifacts()) == 4
    rows = con.execute(
        "select check_name, passed, is_blocking, cluster_id, expected from ops.checks order by check_name, cluster_id"
    ).fetchall()
    assert rows == [
        ("present_attempts", True, True, None, "Every row has a value of attempt_id."),
        ("unique_attempts", False, True, "alpha", "Every row has a value of attempt_id."),
        ("warned_attempts", False, False, "alpha", "Every row has a value of attempt_id."),
        ("window_edges", True, True, None, "Both edges of the window count."),
    ]
    assert failed_checks(con, "run-1") == [], "there is another cluster"
    ((line,),) = failing_clusters(con, "run-1").values()
    assert line.startswith("marts: fct_attempts unique_attempts: 1 row; first: cluster_id alpha, n 2 (")


def test_a_model_that_does_not_build_is_a_failed_check_and_results_of_an_earlier_build_are_not_this_runs(
    con, artifacts, tmp_path
):
    for files in (artifacts(generated_at="2026-01-02T23:59:59Z"), (tmp_path / "none.json", tmp_path / "none.json")):
        assert record_dbt_results(con, "run-1", *files) == 0
    broken = [("model.faultline.fct_attempts", "error", "Runtime Error\n  Binder Error: no column x")]
    assert record_dbt_results(con, "run-1", *artifacts(results=broken)) == 1
    (verdict,) = failed_checks(con, "run-1")
    assert (verdict.check_name, verdict.observed) == ("builds", "Runtime Error Binder Error: no column x")
