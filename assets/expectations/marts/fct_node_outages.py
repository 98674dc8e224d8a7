"""What must hold for marts.fct_node_outages: intervals that run forward."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import believable_time, columns, in_order

ROW = ("cluster_id", "node_id")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns("cluster_id", "node_id", "started_at", "ended_at", "reason", "failure_category", "is_planned"),
        believable_time("started_at", *ROW),
        in_order("started_at", "ended_at", *ROW),
    ]
