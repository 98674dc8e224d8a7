"""What must hold for marts.agg_lost_hours_by_account: a credit statement that adds up, priced as configured."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import columns, finite, no_row, not_negative

ROW = ("cluster_id", "account", "user_name")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(*ROW, "lost_gpu_hours", "lost_cost"),
        not_negative("lost_gpu_hours", *ROW),
        not_negative("lost_cost", *ROW),
        finite(("lost_gpu_hours", "lost_cost"), *ROW),
        no_row(
            "orders_add_up",
            "abs(coalesce(first_order_gpu_hours, 0) + coalesce(second_order_gpu_hours, 0)"
            " - coalesce(lost_gpu_hours, 0)) > 1e-6 * (1 + coalesce(lost_gpu_hours, 0))",
            (*ROW, "first_order_gpu_hours", "second_order_gpu_hours", "lost_gpu_hours"),
            "first and second order make up the loss",
        ),
        no_row(
            "cost_needs_hours",
            "lost_cost is not null and lost_gpu_hours is null",
            (*ROW, "lost_cost"),
            "unknown hours have no cost",
        ),
    ]
