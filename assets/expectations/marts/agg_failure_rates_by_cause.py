"""What must hold for marts.agg_failure_rates_by_cause: possible rates, inside their limits."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import columns, finite, no_row, not_negative

ROW = ("cluster_id", "failure_category")
RATE = "failures_per_gpu_hour"


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(*ROW, "failure_count", "expected_failure_count", "gpu_hours", RATE, f"{RATE}_low", f"{RATE}_high"),
        not_negative("failure_count", *ROW),
        not_negative("gpu_hours", *ROW),
        no_row(
            "limits_enclose_the_rate",
            f"gpu_hours is not null and not coalesce({RATE}_low >= 0 and {RATE}_low < {RATE} and {RATE} < {RATE}_high,"
            " false)",
            (*ROW, RATE, f"{RATE}_low", f"{RATE}_high"),
            f"0 <= {RATE}_low < {RATE} < {RATE}_high",
        ),
        no_row(
            "expected_among_failures",
            "gpu_hours is not null and not coalesce(expected_failure_count between 0 and failure_count, false)",
            (*ROW, "expected_failure_count", "failure_count"),
            "as many failures are expected as there are, or fewer",
        ),
        finite((RATE, f"{RATE}_low", f"{RATE}_high"), *ROW),
    ]
