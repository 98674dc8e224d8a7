"""What must hold for raw.node_events: intervals that run forward, on nodes of the cluster."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import believable_time, columns, in_order, no_row, of_data, one_of
from assets.expectations.shares import mostly_known_nodes

ROW = ("path", "line_number", "node_name")


def expectations() -> list[Expectation]:
    """Return the suite."""
    rules = [
        columns("cluster_id", "disposition", "event_kind", "node_id", "started_at", "ended_at", "state", "reason"),
        one_of("event_kind", ("node", "cluster"), "an event concerns a node or the cluster"),
        believable_time("started_at", *ROW),
        believable_time("ended_at", *ROW),
        in_order("started_at", "ended_at", *ROW),
        no_row(
            "node_named",
            "event_kind = 'node' and node_name is null",
            ("path", "line_number", "state", "reason"),
            "an event of a node names the node",
        ),
        mostly_known_nodes("event_kind = 'node'"),
    ]
    return of_data(rules)
