"""What must hold for marts.fct_incidents: believable times, and no incident without an attempt."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import believable_time, columns, no_row


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns("cluster_id", "incident_id", "started_at", "failure_category", "attempt_count", "node_count"),
        believable_time("started_at", "incident_id"),
        no_row("not_empty", "attempt_count < 1", ("incident_id", "attempt_count"), "an incident has an attempt"),
    ]
