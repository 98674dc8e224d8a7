"""What must hold for estimates.est_mttf_by_size: positive times, inside their intervals."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.fitted import EVIDENCE, evidenced, fitted
from assets.expectations.rules import columns, no_row, not_negative

ROW = ("cluster_id", "gpu_size_bin")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(
            *(*ROW, "failure_count", "runtime_hours", "mttf_hours", "mttf_hours_low", "mttf_hours_high"),
            *("mttf_theory_hours", *EVIDENCE),
        ),
        *fitted("mttf_hours", *ROW),
        *fitted("mttf_theory_hours", *ROW),
        no_row(
            "mttf_positive",
            "mttf_hours <= 0 or mttf_theory_hours <= 0",
            (*ROW, "mttf_hours", "mttf_theory_hours"),
            "a mean time to failure is longer than nothing",
        ),
        no_row(
            "no_failure_no_mean",
            "failure_count = 0 and mttf_hours is not null",
            (*ROW, "failure_count", "mttf_hours"),
            "without a failure there is a lower bound, no mean",
        ),
        not_negative("failure_count", *ROW),
        not_negative("runtime_hours", *ROW),
        *evidenced(*ROW),
    ]
