"""What must hold for marts.fct_job_runs: hours that add up to no less than nothing, ETTR between its bounds."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import columns, in_order, interval, no_row, not_negative, ratio

ROW = ("cluster_id", "run_id")
HOURS = ("queue_hours", "productive_hours", "unproductive_hours", "wallclock_hours")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(
            *("cluster_id", "run_id", "attempt_count", "started_at", "ended_at", *HOURS, "ettr", "ettr_low"),
            *("ettr_high", "productive_hours_low", "productive_hours_high", "infrastructure_failure_count"),
        ),
        *(not_negative(name, *ROW) for name in HOURS),
        in_order("started_at", "ended_at", *ROW),
        ratio("ettr", *ROW),
        interval("ettr", *ROW),
        interval("productive_hours", *ROW),
        no_row(
            "failures_bounded",
            "infrastructure_failure_count not between 0 and attempt_count",
            (*ROW, "infrastructure_failure_count", "attempt_count"),
            "a run has no more failures than attempts",
        ),
    ]
