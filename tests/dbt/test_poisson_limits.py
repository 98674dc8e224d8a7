"""The seed of Poisson limits holds what scipy computes, and the SQL beyond its end keeps the accuracy it states."""

from __future__ import annotations

import csv

import duckdb
import pytest
from scipy.stats import chi2

from orchestration.home import DBT_PROJECT

SEED = DBT_PROJECT / "seeds" / "poisson_limits_90.csv"
MACRO = DBT_PROJECT / "macros" / "poisson_limits.sql"


def garwood(count: int) -> tuple[float, float]:
    """Exact 90% limits of a Poisson mean, from the chi-square quantiles."""
    low = chi2.ppf(0.05, 2 * count) / 2 if count else 0.0
    return low, chi2.ppf(0.95, 2 * count + 2) / 2


def read_seed() -> dict[int, tuple[float, float]]:
    with SEED.open(encoding="utf-8", newline="") as file:
        return {
            int(row["event_count"]): (float(row["count_low"]), float(row["count_high"])) for row in csv.DictReader(file)
        }


def test_every_row_of_the_seed_is_exact():
    seed = read_seed()
    assert sorted(seed) == list(range(1001))
    for count, limits in seed.items():
        assert limits == pytest.approx(garwood(count), rel=1e-11)


def test_the_seed_holds_the_golden_values():
    seed = read_seed()
    assert seed[0] == pytest.approx((0, 2.996), abs=5e-4)
    assert seed[5] == pytest.approx((1.970, 10.513), abs=5e-4)


def limits_by_macro(count: int) -> tuple[float, float]:
    """Evaluate the two macros for a count in DuckDB."""
    from jinja2 import Environment

    macros = Environment().from_string(MACRO.read_text(encoding="utf-8")).module
    row = duckdb.sql(f"select {macros.poisson_limit_low(count)}, {macros.poisson_limit_high(count)}").fetchall()[0]
    assert row is not None
    return row


@pytest.mark.parametrize("count", [1001, 2_000, 10_000, 1_000_000])
def test_limits_beyond_the_seed_are_as_accurate_as_stated(count):
    assert limits_by_macro(count) == pytest.approx(garwood(count), rel=2e-7)
