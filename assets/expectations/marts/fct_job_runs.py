"""What must hold for marts.fct_job_runs: no negative hours, a possible ETTR and number of failures.

Every rule is a scan of a view that is worked out anew; that values lie between their bounds is dbt's to test.
"""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import columns, in_order, no_row, ratio

ROW = ("cluster_id", "run_id")
HOURS = ("queue_hours", "productive_hours", "unproductive_hours", "wallclock_hours")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(
            *("cluster_id", "run_id", "attempt_count", "started_at", "ended_at", *HOURS, "ettr", "ettr_low"),
            *("ettr_high", "productive_hours_low", "productive_hours_high", "infrastructure_failure_count"),
        ),
        no_row(
            "hours_not_negative",
            " or ".join(f"{name} < 0" for name in HOURS),
            (*ROW, *HOURS),
            "hours are zero or more",
        ),
        in_order("started_at", "ended_at", *ROW),
        ratio("ettr", *ROW),
        no_row(
            "failures_bounded",
            "infrastructure_failure_count not between 0 and attempt_count",
            (*ROW, "infrastructure_failure_count", "attempt_count"),
            "a run has no more failures than attempts",
        ),
    ]
