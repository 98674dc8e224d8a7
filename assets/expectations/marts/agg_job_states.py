"""What must hold for marts.agg_job_states: possible shares, and GPU-hours that are those of the attempts."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import columns, ratio, same_total

ROW = ("cluster_id", "state")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(
            *("cluster_id", "state", "is_infrastructure", "attempt_count", "attempt_ratio", "gpu_hours"),
            "gpu_time_ratio",
        ),
        ratio("attempt_ratio", *ROW),
        ratio("gpu_time_ratio", *ROW),
        same_total(
            "gpu_hours_reconcile",
            "select cluster_id, sum(gpu_hours) as total from {batch} where not is_infrastructure group by 1",
            "select cluster_id, sum(gpu_hours) as total from marts.fct_attempts where is_terminal group by 1",
            "the states hold the GPU-hours of every attempt that is over",
            tolerance=1e-9,
        ),
    ]
