"""What must hold for raw.tickets: repairs that end after they began, on components the readers name."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import believable_time, columns, in_order, of_data, one_of
from assets.expectations.shares import mostly_known_nodes

ROW = ("path", "line_number", "ticket_id")
COMPONENTS = ("GPU", "DIMM", "PCIe", "EUD", "BIOS", "NIC", "PSU", "Optics", "CPU", "other", "unknown")


def expectations() -> list[Expectation]:
    """Return the suite."""
    rules = [
        columns("cluster_id", "disposition", "ticket_id", "node_id", "opened_at", "closed_at", "component"),
        one_of("component", COMPONENTS, "every component is one of the list"),
        believable_time("opened_at", *ROW),
        in_order("opened_at", "closed_at", *ROW),
        mostly_known_nodes(),
    ]
    return of_data(rules)
