"""What must hold for marts.agg_failure_rates_daily: possible rates, every day once, and the failures listed."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import columns, finite, no_finding, no_row, not_negative, same_total

ROW = ("cluster_id", "day_date", "failure_category")
RATE = "failures_per_1000_node_days_30d"


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(*ROW, "failure_count", "node_days", RATE),
        not_negative("failure_count", *ROW),
        not_negative("node_days", *ROW),
        not_negative(RATE, *ROW),
        finite((RATE, "node_days"), *ROW),
        no_row(
            "rate_needs_exposure",
            f"{RATE} is not null and coalesce(node_days_30d, 0) = 0",
            (*ROW, RATE, "node_days_30d"),
            "a rate rests on node-days",
        ),
        no_finding("days_complete", DAYS_COMPLETE, "every day from the first to the last has its row"),
        same_total(
            "failures_reconcile",
            "select cluster_id, sum(failure_count) as total from {batch} group by 1",
            "select cluster_id, count(*) as total from marts.fct_failures group by 1",
            "the days hold every failure",
        ),
    ]


DAYS_COMPLETE = """
    select concat(
        cluster_id, ' ', failure_category, ': ', count(*), ' rows from ', min(day_date), ' to ', max(day_date)
    ) as finding
    from {batch}
    group by cluster_id, failure_category
    having count(*) <> date_diff('day', min(day_date), max(day_date)) + 1
    order by finding
"""
