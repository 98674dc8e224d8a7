"""The cost model on made-up rows: it finds what they were made of, and says where it only draws on."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.benchmarks import cost_page, results
from tests.benchmarks.cost_model import Row, cost_model, fit
from tests.benchmarks.measuring import Cost
from tests.benchmarks.results import CheckLogs, OnSpark, Results, Scale


def scale(workload: str, size: str, attempts: int, node_days: int) -> Scale:
    found = Scale(workload, Fraction(size), attempts, 5 * attempts, node_days)
    cpu = 10 + 20 * attempts / 1e6 + 5 * node_days / 1e6
    found.add(results.FULL, Cost(cpu, 2 * cpu, 2000, 2000))
    found.add(results.NIGHTLY, Cost(cpu / 2, cpu, 1500, 1500))
    found.disk_mb = {results.NIGHTLY: 100 + 500 * attempts / 1e6}
    return found


@pytest.fixture
def found():
    sizes = [
        scale("daily", "1/16", 700_000, 60_000),
        scale("daily", "1", 4_000_000, 1_000_000),
        scale("growing", "1/16", 250_000, 11_000),
        scale("growing", "1", 4_000_000, 180_000),
    ]
    logs = CheckLogs("jsonl", 1_000_000, 300, Cost(2, 4, 200, 200), Cost(1, 1, 600, 600))
    return Results({"processor": "two cores"}, 1, Cost(5, 10, 400, 400), {}, sizes, [logs])


def test_what_was_measured_beside_other_work_is_left_out(found):
    alone = cost_model(found)
    other_scale = scale("varied", "1/8", 500_000, 48_000)
    other_scale.add(results.FULL, Cost(900, 900, 4000, 4000, load=9.5))
    found.scales.append(other_scale)
    assert cost_model(found) == alone
    other_scale.costs[results.FULL] = [Cost(900, 900, 4000, 4000, load=1.5)]
    assert cost_model(found) != alone


def test_the_parts_are_found_again(found):
    night = cost_model(found).night_cpu
    assert night.fixed == pytest.approx(10)
    assert night.rates == pytest.approx({"attempts": 20e-6, "node_days": 5e-6})
    assert max(map(abs, night.errors.values())) < 1e-6
    assert night.at(attempts=1e6, node_days=1e6) == pytest.approx(35)


def test_no_part_is_below_zero():
    rows = [Row(str(value), {"attempts": attempts}, value) for attempts, value in ((0, 10), (1, 9), (2, 8))]
    assert fit(rows).rates == {"attempts": 0}


def test_two_terms_that_vary_together_are_not_told_apart():
    rows = [Row(str(n), {"attempts": n, "node_days": 3 * n}, 10 + n) for n in (0, 1, 2, 5)]
    assert set(fit(rows).rates) == {"attempts"}


def test_no_term_is_fitted_without_a_row_that_checks_it():
    rows = [Row("a", {"attempts": 1}, 10), Row("b", {"attempts": 5}, 20)]
    assert fit(rows).rates == {}


def test_an_example_beyond_what_was_measured_is_marked(found):
    text = cost_page.page(found)
    # 365,000 attempts and 36,500 node-days: 10 + 7.3 + 0.2 CPU seconds, and 0.3 for 288,000 check results.
    assert "| 100 | 1,000 | 200 | 18 | 0.3 |" in text
    assert "| 100 | 100,000 | 200 | 740 * |" in text


def test_without_enough_rows_the_page_says_so(found):
    found.scales = found.scales[:1]
    text = cost_page.page(found)
    assert "Not measured: the model takes" in text
    assert "A Spark run at scale 1: not measured" in text


def test_a_spark_run_stands_beside_duckdb(found):
    found.spark = [OnSpark("daily", Fraction(1), 4_000_000, Cost(900, 1700, 4000, 3900), 70, 500, 90)]
    text = cost_page.page(found)
    assert "| daily | 1 | 4,000,000 | 70 | 900 | 1,700 | 4.00 | 500 | 90 | 10.0 |" in text
    assert "it would take 10 machines like this one" in text
    found.scales[1].steps[results.FULL] = {"dbt": 45.0}
    assert "| 500 | 45 | 20.0 |" in cost_page.page(found)
    found.spark[0] = OnSpark("daily", Fraction(1), 4_000_000, Cost(900, 1700, 4000, 3900, 1), 70, 500, 90)
    text = cost_page.page(found)
    assert "900 (did not complete)" in text
    assert "machines like this one" not in text


def test_every_row_is_as_wide_as_its_header(found):
    text = cost_page.page(found)
    tables = [part.splitlines() for part in text.split("\n\n") if part.startswith("|")]
    assert len(tables) == 3
    assert all(len({line.count(" | ") for line in table if "---" not in line}) == 1 for table in tables)
