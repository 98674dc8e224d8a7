"""What must hold for marts.agg_check_introductions: believable times in order, and nothing added before it reported."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import believable_time, columns, in_order, no_row

ROW = ("cluster_id", "source", "check_name")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(*ROW, "failure_category", "first_reported_at", "last_reported_at", "is_introduction"),
        believable_time("first_reported_at", *ROW),
        in_order("first_reported_at", "last_reported_at", *ROW),
        in_order("first_reported_at", "first_failed_at", *ROW),
        no_row(
            "introductions_known",
            "is_introduction is not null and not has_good_results",
            (*ROW, "is_introduction"),
            "without good results nobody knows when a check was added",
        ),
    ]
