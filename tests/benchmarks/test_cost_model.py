"""The cost model on made-up rows: it finds what they were made of, and says where it only draws on."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.benchmarks import cost_page, results
from tests.benchmarks.cost_model import Row, cost_model, fit
from tests.benchmarks.measuring import Cost
from tests.benchmarks.results import CheckLogs, Results, Scale


def workload(name: str, attempts: int, node_days: int) -> Scale:
    found = Scale(name, Fraction(1), attempts, 5 * attempts, node_days)
    cpu = 10 + 20 * attempts / 1e6 + 5 * node_days / 1e6
    found.add(results.FULL, Cost(cpu, 2 * cpu, 2000, 2000))
    found.add(results.NIGHTLY, Cost(cpu / 2, cpu, 1500, 1500))
    found.disk_mb = {results.NIGHTLY: 100 + 500 * attempts / 1e6}
    return found


@pytest.fixture
def found():
    workloads = [
        workload("daily", 4_000_000, 1_000_000),
        workload("growing", 4_000_000, 180_000),
        workload("varied", 4_000_000, 400_000),
    ]
    logs = CheckLogs("jsonl", 1_000_000, 300, Cost(2, 4, 200, 200), Cost(1, 1, 600, 600))
    return Results({"processor": "two cores"}, Cost(5, 10, 400, 400), {}, 100, [logs], workloads)


def test_what_was_measured_beside_other_work_is_left_out(found):
    alone = cost_model(found)
    other = workload("other", 500_000, 48_000)
    other.costs[results.FULL] = [Cost(900, 900, 4000, 4000, load=9.5)]
    found.scales.append(other)
    assert cost_model(found) == alone
    other.costs[results.FULL] = [Cost(900, 900, 4000, 4000, load=1.5)]
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
    assert "Not measured: the model takes two workloads" in cost_page.page(found)


def test_every_row_is_as_wide_as_its_header(found):
    text = cost_page.page(found)
    tables = [part.splitlines() for part in text.split("\n\n") if part.startswith("|")]
    assert len(tables) == 3
    assert all(len({line.count(" | ") for line in table if "---" not in line}) == 1 for table in tables)
