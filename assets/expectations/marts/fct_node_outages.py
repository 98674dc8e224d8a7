"""What must hold for marts.fct_node_outages: intervals that run forward, open or ended."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import believable_time, columns, in_order, no_row

ROW = ("cluster_id", "node_id")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(
            *("cluster_id", "node_id", "requested_at", "started_at", "ended_at", "is_open", "reason"),
            *("failure_category", "is_planned"),
        ),
        believable_time("started_at", *ROW),
        in_order("requested_at", "started_at", *ROW),
        in_order("started_at", "ended_at", *ROW),
        no_row(
            "open_without_end",
            "is_open <> (ended_at is null)",
            (*ROW, "started_at", "is_open", "ended_at"),
            "an outage is open exactly when it has no end",
        ),
    ]
