"""What must hold for marts.agg_cooccurrence: part of the failures, no category beside itself, counts that agree."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import columns, no_finding, no_row, not_negative, ratio

ROW = ("cluster_id", "failure_category", "other_category")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(*ROW, "failure_count", "both_count", "both_ratio"),
        ratio("both_ratio", *ROW),
        not_negative("both_count", *ROW),
        no_row(
            "not_beside_itself",
            "failure_category = other_category",
            ROW,
            "a category is not beside itself",
        ),
        no_row(
            "both_among_failures",
            "both_count > failure_count or failure_count < 1",
            (*ROW, "both_count", "failure_count"),
            "both_count is part of failure_count",
        ),
        no_finding("one_failure_count", ONE_FAILURE_COUNT, "every row of a cause counts the same failures"),
    ]


ONE_FAILURE_COUNT = """
    select
        cluster_id,
        concat(cluster_id, ' ', failure_category, ': ', min(failure_count), ' and ', max(failure_count)) as finding
    from {batch}
    group by cluster_id, failure_category
    having min(failure_count) <> max(failure_count)
    order by finding
"""
