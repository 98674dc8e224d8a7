"""The page from made-up numbers: ratios, targets met and missed, what was not measured."""

import json
from fractions import Fraction

import pytest

from orchestration.settings.home import Home
from tests.benchmarks import results, steps
from tests.benchmarks.measuring import Cost, Sample
from tests.benchmarks.page import page
from tests.benchmarks.results import CheckLogs, Results, Scale
from tests.benchmarks.targets import verdicts
from tests.homes import ask


def workload(name: str, attempts: int, cpu: float, published_mb: float = 100, size: str = "1") -> Scale:
    found = Scale(name, Fraction(size), attempts, 10 * attempts, 1000, 50)
    found.published_mb, found.working_mb = published_mb, 2 * published_mb
    found.add(results.FLOOR, Cost(10, 20, 1000, 1000, reference_seconds=0.1))
    found.add(results.FULL, Cost(40, cpu, 3000, 2500, reference_seconds=0.13, load=0.8))
    found.add(results.LIMITED, Cost(45, cpu, 2000, 2000, reference_seconds=0.1))
    found.add(results.NIGHTLY, Cost(8, 0.4 * cpu, 900, 900, reference_seconds=0.11))
    found.add("query", Cost(0.5, 0.4, 80, 80, reference_seconds=0.12))
    found.disk_mb = {results.FLOOR: 70, results.FULL: 300}
    found.steps = {results.FULL: {"dbt": 30, "model int_large": 9, "model fct_small": 2, "model fct_tiny": 1}}
    found.estimates = {"est_long": results.StepCost(12, 2100), "est_short": results.StepCost(0.01, 1900)}
    found.models = {"int_large": results.StepCost(9, 2500), "fct_small": results.StepCost(1.9, 900)}
    found.asked_seconds, found.direct_seconds = {"a": 0.5, "b": 0.7}, {"a": 0.01, "b": 0.03}
    return found


@pytest.fixture
def found():
    workloads = [workload("daily", 1_600_000, 60), workload("growing", 250_000, 45, size="1/16")]
    logs = CheckLogs("jsonl", 1_000_000, 300, Cost(2, 4, 200, 200), Cost(9, 16, 600, 600))
    steps = {"dbt": 4, "model a": 1, "dbt tests": 1, "raw": 2}
    return Results({"processor": "two cores"}, Cost(9, 8, 400, 400), steps, 20, [logs], workloads)


def test_a_stage_is_a_ratio_to_the_floor(found):
    text = page(found)
    assert "| daily | floor | 10.0 | 20.0 | 1.00 | 1.00 | 1.00 | 70 | 1.00 | 0.0 |" in text
    assert "| daily | full refresh | 40.0 | 60.0 | 3.00 | 4.00 | 3.00 | 300 | 1.30 | 0.8 |" in text


def test_every_table_has_rows_as_wide_as_its_header(found):
    tables = [part.splitlines() for part in page(found).split("\n\n") if part.startswith("|")]
    assert len(tables) == 14
    assert all(len({line.count(" | ") for line in table[2:]}) == 1 for table in tables)
    assert all(table[0].count(" | ") == table[2].count(" | ") for table in tables[1:])


def judged(found: Results, part: str) -> list[tuple[str, bool | None]]:
    return [(verdict.measured, verdict.is_met) for verdict in verdicts(found) if part in verdict.target]


def test_targets_are_judged_for_each_workload(found):
    assert judged(found, "published file") == [("62 MB", True), ("400 MB", False)]
    assert judged(found, "committed capture") == [("8.0 s", True)]


def test_a_target_in_seconds_is_not_met_at_a_smaller_scale(found):
    found.scales[0].asked_seconds = found.scales[1].asked_seconds = {"a": 0.3}
    assert judged(found, "ten questions") == [("0.30 s", True), ("0.30 s", None)]
    found.scales[1].asked_seconds = {"a": 0.9}
    assert judged(found, "ten questions")[1] == ("0.90 s", False)


def test_a_target_in_seconds_is_not_judged_where_the_machine_had_other_work(found):
    assert judged(found, "ten questions")[0] == ("0.70 s", False)
    assert judged(found, "no estimate")[0] == ("12.00 s", False)
    found.scales[0].costs["query"] = [Cost(2, 1, 80, 80, reference_seconds=0.1, load=7.5)]
    assert judged(found, "ten questions")[0] == ("0.70 s", None)
    assert judged(found, "no estimate")[0] == ("12.00 s", None)


def test_shares_of_cpu_time_are_judged_at_scale_1_alone(found):
    ratio, share = "times the floor's CPU time", "the full refresh's CPU time"
    assert judged(found, ratio) == [("3.00 times", True), ("2.25 times", None)]
    assert judged(found, share) == [("0.40", True), ("0.40", None)]
    found.scales[0].costs[results.FULL] = [Cost(40, 71, 3000, 2500)]
    assert judged(found, ratio)[0] == ("3.55 times", False)
    found.scales[0].costs[results.NIGHTLY] = [Cost(40, 50, 3000, 2500)]
    assert judged(found, share)[0] == ("0.70", False)


def test_every_estimate_and_the_models_above_two_seconds_stand_with_seconds_and_memory(found):
    text = page(found)
    assert "| est_long | 12.0 | 2.10 |\n| est_short | 0.01 | 1.90 |" in text
    assert "| int_large | 9.00 | 2.50 |" in text
    assert "| fct_small | 1.90 |" not in text


def test_a_step_costs_what_was_held_while_it_ran():
    samples = [Sample(at, held) for at, held in ((0, 900), (2, 100), (4, 300), (6, 700))]
    spans = {"short": (4.5, 4.6), "long": (1, 5)}
    assert steps.costs_of(spans, samples) == {
        "long": results.StepCost(4, 300),
        "short": results.StepCost(pytest.approx(0.1), 300),
    }


def test_a_model_runs_when_dbt_says(tmp_path):
    home = Home.at(tmp_path)
    results_file = home.work / "dbt" / "run_results.json"
    results_file.parent.mkdir(parents=True)
    timing = [
        {"name": "compile", "started_at": "1970-01-01T00:00:02Z", "completed_at": "1970-01-01T00:00:02.5Z"},
        {"name": "execute", "started_at": "1970-01-01T00:00:02.5Z", "completed_at": "1970-01-01T00:00:04.5Z"},
    ]
    entries = [{"unique_id": f"{kind}.faultline.int_large", "timing": timing} for kind in ("model", "seed")]
    skipped = {"unique_id": "model.faultline.fct_skipped", "timing": []}
    results_file.write_text(json.dumps({"results": [*entries, skipped]}))
    assert steps.models_of(home, [Sample(3, 100)]) == {"int_large": results.StepCost(2.5, 100)}


def test_an_estimate_runs_when_dagster_says(testbed_home):
    (last,) = ask(testbed_home, "select max(ended_at) from ops.stages where stage = 'estimates'")
    found = steps.estimates_of(testbed_home, [Sample(last[0].timestamp(), 100)])
    assert "est_failure_rates" in found
    seconds = [cost.seconds for cost in found.values()]
    assert seconds == sorted(seconds, reverse=True)
    assert min(seconds) > 0


def test_a_model_above_a_tenth_of_the_time_misses_the_target(found):
    text = page(found)
    assert "| model int_large | 9.00 | 22% | 0.00 | 0% |" in text
    assert "| model fct_small | 2.00 | 5% | 0.00 | 0% |" in text
    assert "fct_tiny" not in text
    assert judged(found, "a tenth of the time")[0] == ("`int_large`", False)


def test_the_fixed_cost_is_shown_in_parts(found):
    text = page(found)
    assert "| start, imports, Dagster | 3.00 | 33% |" in text
    assert "| dbt itself | 2.00 | 22% |" in text


def test_a_refresh_that_ran_out_of_memory_is_shown_as_such(found):
    daily = found.scales[0]
    daily.costs[results.LIMITED] = [Cost(5, 5, 1100, 1100, exit_code=1, reference_seconds=0.1)]
    text = page(found)
    assert "full refresh, 1 GB (did not complete)" in text
    assert "fails with exit status 1, peak 1.10 GB | **no** |" in text
    found.scales[0] = Scale("daily", Fraction(1))
    found.scales[0].add(results.FLOOR, daily.costs[results.FLOOR][0])
    found.scales[0].add(results.FULL, daily.costs[results.LIMITED][0])
    text = page(found)
    assert "| daily: full refresh completes | no | **no** |" in text
    assert "| daily | full refresh (did not complete) | 5.00 |" in text
