"""What must hold for raw.health_checks: results a check can have, at times a node can have been checked."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import believable_time, columns, in_order, no_row, of_data, one_of
from assets.expectations.shares import mostly_known_nodes

ROW = ("path", "line_number", "node_name", "check_name")


def expectations() -> list[Expectation]:
    """Return the suite."""
    rules = [
        columns("cluster_id", "disposition", "node_id", "check_name", "result", "observed_at", "xid_codes"),
        one_of("result", ("OK", "WARN", "CRITICAL", "UNKNOWN"), "every result is OK, WARN, CRITICAL or UNKNOWN"),
        one_of("result_quality", ("ran", "disabled", "could_not_run"), "it is known whether the check ran"),
        believable_time("observed_at", *ROW),
        in_order("started_at", "observed_at", *ROW),
        no_row(
            "xid_codes_possible",
            "len(list_filter(xid_codes, lambda code: code not between 1 and 999)) > 0",
            (*ROW, "xid_codes"),
            "an XID lies between 1 and 999",
            warns=True,
        ),
        mostly_known_nodes(),
    ]
    return of_data(rules)
