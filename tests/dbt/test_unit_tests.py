"""dbt's own unit tests: each subtle rule on a handful of hand-made rows."""

import json

import pytest

from tests.dbt.on_a_copy import copy_of, dbt


@pytest.fixture(scope="module")
def results(testbed_home, tmp_path_factory):
    """Status and message of every unit test."""
    home = copy_of(testbed_home, tmp_path_factory.mktemp("dbt"))
    done = dbt(home, "test", "--select", "test_type:unit")
    report = home.root / "run_results.json"
    assert report.exists(), done.stdout
    return {
        result["unique_id"].removeprefix("unit_test.faultline."): (result["status"], result["message"])
        for result in json.loads(report.read_text())["results"]
    }


def test_every_rule_holds(results):
    assert {name: message for name, (status, message) in results.items() if status != "pass"} == {}


SUBTLE = {
    "attribution window": "int_failures_evidenced",
    "priority of causes": "int_failures_evidenced",
    "named culprits": "int_culprits_named",
    "GPU count from TRES": "int_records_measured",
    "resizing": "int_records_measured",
    "incidents": "int_failures_grouped",
    "events over several nodes": "int_multi_node_onsets",
    "negative control": "int_attempt_end_evidence",
    "crash loops": "agg_crash_loops",
    "job runs": "int_jobs_chained",
    "sticky checks": "int_health_checks_changed",
    "reasons": "int_node_reasons_classified",
    "outages": "int_node_outages",
    "facts of earlier inventories": "stg_inventory__nodes",
}


@pytest.mark.parametrize("rule", SUBTLE)
def test_the_subtle_rules_have_unit_tests(results, rule):
    assert any(name.startswith(f"{SUBTLE[rule]}.") for name in results), sorted(results)
