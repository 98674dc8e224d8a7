"""What must hold for marts.agg_crash_loops: three failures in a row at least, and victims that were preempted."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import columns, in_order, no_row, not_negative

ROW = ("cluster_id", "run_id")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(*ROW, "consecutive_failure_count", "victim_count", "victim_gpu_count", "lost_gpu_hours"),
        in_order("started_at", "ended_at", *ROW),
        not_negative("lost_gpu_hours", *ROW),
        not_negative("victim_gpu_count", *ROW),
        no_row(
            "three_in_a_row",
            "consecutive_failure_count < 3 or consecutive_failure_count > failure_count",
            (*ROW, "consecutive_failure_count", "failure_count"),
            "a crash loop is three failures in a row at least",
        ),
        no_row(
            "second_order_among_victims",
            "second_order_victim_count > victim_count",
            (*ROW, "second_order_victim_count", "victim_count"),
            "second-order losses are among the victims",
        ),
    ]
