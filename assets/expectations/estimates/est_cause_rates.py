"""What must hold for estimates.est_cause_rates: possible rates inside their limits, and a bound for each cause."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.fitted import EVIDENCE, evidenced, fitted
from assets.expectations.rules import columns, no_row, not_negative

ROW = ("cluster_id", "failure_category")
RATE = "failures_per_gpu_hour"


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(*ROW, "failure_count", "gpu_hours", RATE, f"{RATE}_low", f"{RATE}_high", *EVIDENCE),
        *fitted(RATE, *ROW),
        not_negative("failure_count", *ROW),
        not_negative("gpu_hours", *ROW),
        *evidenced(*ROW),
        no_row(
            "every_cause_is_bounded",
            f"gpu_hours > 0 and {RATE}_high is null",
            (*ROW, "gpu_hours", f"{RATE}_high"),
            "a cause with exposure has an upper limit, seen or not",
        ),
        no_row(
            "dispersion_at_least_1",
            "dispersion < 1",
            (*ROW, "dispersion"),
            "failures never scatter less than Poisson counts",
        ),
        no_row(
            "incidents_bounded",
            "incident_count > failure_count + 1e-9",
            (*ROW, "incident_count", "failure_count"),
            "there are no more incidents than failed attempts",
        ),
    ]
