"""What must hold for marts.fct_node_days: no more hours in a day than there are, on no more GPUs than the node has."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import columns, no_finding, no_row, not_negative

ROW = ("cluster_id", "node_id", "day_date")
# Node failures are noticed minutes late, so two jobs may seem to hold a GPU at once for a while.
MAX_ALLOCATED_RATIO = 1.05


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(*ROW, "allocated_gpu_hours", "in_use_hours", "out_of_service_hours", "failure_count"),
        not_negative("allocated_gpu_hours", *ROW),
        not_negative("failure_count", *ROW),
        no_row(
            "out_of_service_within_day",
            "out_of_service_hours not between 0 and 24 + 1e-9",
            (*ROW, "out_of_service_hours"),
            "a node is out of service for 0 to 24 hours of a day",
        ),
        no_row(
            "in_use_within_day",
            "in_use_hours not between 0 and 24 + 1e-9",
            (*ROW, "in_use_hours"),
            "a node is in use for 0 to 24 hours of a day",
        ),
        no_finding(
            "allocated_within_day", ALLOCATED_WITHIN_DAY, "a node gives at most 24 hours of each GPU a day", warns=True
        ),
    ]


ALLOCATED_WITHIN_DAY = f"""
    select
        cluster_id,
        concat(cluster_id, ' ', node_id, ' ', day_date, ': ', allocated_gpu_hours, ' of ', 24 * gpu_count) as finding
    from {{batch}} as node_days
    inner join marts.dim_nodes as nodes using (cluster_id, node_id)
    where node_days.allocated_gpu_hours > {MAX_ALLOCATED_RATIO} * 24 * nodes.gpu_count
    order by finding
"""
