"""The page from made-up numbers: ratios, targets met and missed, what was not measured."""

import json
from fractions import Fraction

import pytest

from orchestration.home import DBT_PROJECT, Home
from tests.benchmarks import results, steps
from tests.benchmarks.__main__ import parser
from tests.benchmarks.measuring import Cost, Sample
from tests.benchmarks.page import page
from tests.benchmarks.results import CheckLogs, OnSpark, Results, Scale, growth_exponent
from tests.benchmarks.targets import verdicts


def scale(size: str, attempts: int, cpu: float, published_mb: float = 100, workload: str = "daily") -> Scale:
    found = Scale(workload, Fraction(size), attempts, 10 * attempts, 1000, 50)
    found.published_mb, found.working_mb = published_mb, 2 * published_mb
    found.add(results.FLOOR, Cost(10, 20, 1000, 1000, reference_seconds=0.1))
    found.add(results.FULL, Cost(40, cpu, 3000, 2500, reference_seconds=0.13, load=0.8))
    found.add(results.NIGHTLY, Cost(8, 0.4 * cpu, 900, 900, reference_seconds=0.11))
    found.add("query", Cost(0.5, 0.4, 80, 80, reference_seconds=0.12))
    found.disk_mb = {results.FLOOR: 70, results.FULL: 300}
    found.steps = {results.FULL: {"dbt": 30, "model int_large": 9, "model fct_small": 2, "model fct_tiny": 1}}
    found.add(results.SINGLE, Cost(80, 50, 2000, 2000, reference_seconds=0.1))
    found.models = {"int_large": results.ModelCost(12, 2500), "fct_small": results.ModelCost(3, 900)}
    found.asked_seconds, found.direct_seconds = {"a": 0.5, "b": 0.7}, {"a": 0.01, "b": 0.03}
    return found


@pytest.fixture
def found():
    sizes = [scale("1/16", 100_000, 30), scale("1", 1_600_000, 60), scale("1/16", 250_000, 45, workload="growing")]
    logs = CheckLogs("jsonl", 1_000_000, 300, Cost(2, 4, 200, 200), Cost(9, 16, 600, 600))
    steps = {"dbt": 4, "model a": 1, "dbt tests": 1, "raw": 2}
    return Results({"processor": "two cores"}, 1, Cost(9, 8, 400, 400), steps, sizes, [logs])


def test_a_stage_is_a_ratio_to_the_floor(found):
    text = page(found)
    assert "| daily | 1/16 | floor | 10.0 | 20.0 | 1.00 | 1.00 | 1.00 | 70 | 1.00 | - |" in text
    assert "| daily | 1 | full refresh | 40.0 | 60.0 | 3.00 | 4.00 | 3.00 | 300 | 1.30 | 0.8 |" in text


def test_without_a_reference_there_is_no_pace(found):
    for sized in found.scales:
        sized.costs = {name: [Cost(1, 1, 1, 1)] for name in sized.costs}
    assert "| daily | 1 | full refresh | 1.00 | 1.00 | 1.00 | 1.00 | 0.00 | 300 | - | - |" in page(found)


def test_every_table_has_rows_as_wide_as_its_header(found):
    tables = [part.splitlines() for part in page(found).split("\n\n") if part.startswith("|")]
    assert len(tables) == 12
    assert all(len({line.count(" | ") for line in table[2:]}) == 1 for table in tables)
    assert all(table[0].count(" | ") == table[2].count(" | ") for table in tables[1:])


def test_targets_are_judged_at_the_scale_nearest_to_one_of_each_workload(found):
    at = {verdict.target.partition(": at most")[0]: verdict for verdict in verdicts(found)}
    assert at["daily: published file"].measured == "62 MB at scale 1"
    assert at["growing: published file"].measured == "400 MB at scale 1/16"
    assert at["refresh of the committed capture"].is_met


def judged(found: Results, part: str) -> list[tuple[str, bool | None]]:
    return [(verdict.measured, verdict.is_met) for verdict in verdicts(found) if part in verdict.target]


def test_a_target_in_seconds_is_not_met_at_a_smaller_scale(found):
    found.scales[0].asked_seconds = found.scales[1].asked_seconds = found.scales[2].asked_seconds = {"a": 0.3}
    assert judged(found, "ten questions") == [("0.30 s at scale 1", True), ("0.30 s at scale 1/16", None)]
    found.scales[2].asked_seconds = {"a": 0.9}
    assert judged(found, "ten questions")[1] == ("0.90 s at scale 1/16", False)


def test_a_target_in_seconds_is_not_judged_where_the_machine_had_other_work(found):
    assert judged(found, "ten questions")[0] == ("0.70 s at scale 1", False)
    found.scales[1].add("query", Cost(2, 1, 80, 80, load=7.5))
    assert judged(found, "ten questions")[0] == ("0.70 s at scale 1", None)


def test_shares_of_cpu_time_are_judged_at_scale_1_alone(found):
    ratio, share = "times the floor's CPU time", "the full refresh's CPU time"
    assert judged(found, ratio) == [("3.00 times at scale 1", True), ("2.25 times at scale 1/16", None)]
    assert judged(found, share) == [("0.40 at scale 1", False), ("0.40 at scale 1/16", None)]
    found.scales[1].costs[results.FULL] = [Cost(40, 71, 3000, 2500)]
    assert judged(found, ratio)[0] == ("3.55 times at scale 1", False)
    assert judged(found, share)[0] == ("0.34 at scale 1", True)


def test_the_dearest_models_stand_with_their_cpu_time_and_memory(found):
    text = page(found)
    assert "All 2 models take 15.0 CPU s, 30% of the refresh on one thread." in text
    assert "| int_large | 12.0 | 24.0% | 2.50 |" in text


def test_a_model_costs_what_was_used_while_dbt_ran_it(tmp_path):
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
    samples = [Sample(at, used, held) for at, used, held in ((0, 0, 900), (2, 4, 100), (4, 8, 300), (6, 9, 700))]
    assert steps.models_of(home, samples) == {"int_large": results.ModelCost(pytest.approx(4.25), 300)}


def test_a_model_above_a_tenth_of_the_time_needs_a_reason(found, monkeypatch):
    text = page(found)
    assert "| model int_large | 9.00 | 22% | 0.00 | 0% | **none given** |" in text
    assert "| model fct_small | 2.00 | 5% | 0.00 | 0% |  |" in text
    assert "fct_tiny" not in text
    assert "`int_large` at scale 1 | **no** |" in text
    monkeypatch.setitem(steps.REASONS, "int_large", "It reads every record.")
    text = page(found)
    assert "| model int_large | 9.00 | 22% | 0.00 | 0% | It reads every record. |" in text
    assert "none at scale 1 | yes |" in text


def test_what_a_night_builds_whole_is_listed_with_its_cost(found):
    assert "builds from all rows" not in page(found)
    night = found.scales[1]
    night.rebuilt = ["estimates", "model fct_small", "model fct_tiny", "model int_tinier"]
    night.steps[results.NIGHTLY] = {"estimates": 2, "model fct_small": 4, "model fct_tiny": 0.03, "model fct_kept": 3}
    text = page(found)
    assert "## What a night builds from all rows: daily, scale 1" in text
    shown = [line for line in text.splitlines() if line.startswith(("| model fct_", "| estimates", "| 2 others"))]
    assert "| model fct_small | 4.00 | 50.0% |" in shown
    assert shown.index("| model fct_small | 4.00 | 50.0% |") < shown.index("| estimates | 2.00 | 25.0% |")
    assert "| 2 others | 0.03 | 0.4% |" in shown
    assert not any("fct_kept | 3.00 | 37.5%" in line for line in shown)


def test_only_tables_that_keep_no_row_are_built_whole(tmp_path, monkeypatch):
    manifest = tmp_path / "manifest.json"
    monkeypatch.setattr(steps, "manifest_of", lambda _home: manifest)
    nodes = {
        name: {"name": name, "config": {"materialized": kind}}
        for name, kind in {"a": "table", "b": "incremental", "c": "view", "d": "test", "e": "seed"}.items()
    }
    manifest.write_text(json.dumps({"nodes": nodes}))
    assert steps.rebuilt_whole(Home.at(tmp_path)) == ["estimates", "model a"]


def test_reasons_are_of_models_that_exist():
    models = {path.stem for path in (DBT_PROJECT / "models").rglob("*.*") if path.suffix in {".sql", ".py"}}
    assert set(steps.REASONS) <= models


def test_the_fixed_cost_is_shown_in_parts(found):
    text = page(found)
    assert "| start, imports, Dagster | 3.00 | 33% |" in text
    assert "| dbt itself | 2.00 | 22% |" in text


def test_a_refresh_that_ran_out_of_memory_is_shown_as_such(found):
    found.scales[1].add(results.LIMITED, Cost(5, 5, 1100, 1100, exit_code=1, reference_seconds=0.1))
    text = page(found)
    assert "full refresh, 1 GB (did not complete)" in text
    assert "fails with exit status 1, peak 1.10 GB at scale 1 | **no** |" in text


def test_growth_is_the_slope_between_the_ends():
    ends = [scale("1/16", 1_000, 1), scale("1", 100_000, 100), scale("1/4", 10_000, 50)]
    assert growth_exponent(ends) == pytest.approx(1)
    assert growth_exponent(ends[:1]) is None


def test_results_are_the_same_after_they_were_kept(found):
    found.spark.append(OnSpark("daily", Fraction(1), 1_600_000, Cost(900, 1700, 4000, 3900), 70, 500, 30))
    assert Results.from_json(found.as_json()) == found


def test_what_is_measured_again_replaces_what_was_kept(found):
    again = scale("1/16", 100_000, 33)
    found.replace(again)
    assert [scale.scale for scale in found.workloads["daily"]] == [Fraction(1, 16), Fraction(1)]
    assert found.workloads["daily"][0] is again
    assert len(found.workloads["growing"]) == 1


def test_scales_are_read_as_fractions():
    assert parser().parse_args(["--scales", "1,1/16"]).scales == [Fraction(1, 16), Fraction(1)]
    assert parser().parse_args([]).scales == [Fraction(1, 16)]
