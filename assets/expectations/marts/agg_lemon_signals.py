"""What must hold for marts.agg_lemon_signals: possible counts on every day of every node, within the window."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import columns, no_finding, no_row, not_negative, ratio

ROW = ("cluster_id", "node_id", "window_end_date")
COUNTS = (
    *("excl_jobid_count", "xid_cnt", "tickets", "out_count", "multi_node_node_fails", "single_node_node_fails"),
    *("single_node_attempt_count", "in_use_node_days"),
)


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(*ROW, "window_days", *COUNTS, "single_node_node_failure_rate"),
        *(not_negative(name, *ROW) for name in COUNTS),
        ratio("single_node_node_failure_rate", *ROW),
        no_row(
            "in_use_within_window",
            "in_use_node_days > window_days + 1e-6",
            (*ROW, "in_use_node_days", "window_days"),
            "a node is not in use for longer than the window",
        ),
        no_finding("every_day_there", EVERY_DAY_THERE, "every node has a row for each day of its cluster"),
    ]


EVERY_DAY_THERE = """
    select cluster_id, concat(cluster_id, ': ', here, ' rows, ', expected, ' node-days') as finding
    from (select cluster_id, count(*) as here from {batch} group by cluster_id)
    full join (select cluster_id, count(*) as expected from marts.fct_node_days group by cluster_id) using (cluster_id)
    where here is distinct from expected
    order by finding
"""
