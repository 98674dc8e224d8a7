"""What must hold for marts.agg_failure_rates_by_cause: possible rates, inside their intervals."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import columns, finite, interval, not_negative

ROW = ("cluster_id", "failure_category")
RATE = "failures_per_gpu_hour"


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(*ROW, "failure_count", "gpu_hours", RATE, f"{RATE}_low", f"{RATE}_high"),
        not_negative("failure_count", *ROW),
        not_negative("gpu_hours", *ROW),
        not_negative(f"{RATE}_low", *ROW),
        interval(RATE, *ROW),
        finite((RATE, f"{RATE}_low", f"{RATE}_high"), *ROW),
    ]
