"""What must hold for estimates.est_rate_changes: changes within their limits and the data, and rates that differ."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.fitted import EVIDENCE, evidenced, fitted
from assets.expectations.rules import columns, no_finding, no_row, ratio

ROW = ("cluster_id", "failure_category", "changed_at")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(
            *(*ROW, "rate_before", "rate_after", "ratio", "ratio_low", "ratio_high", "annotation"),
            *("changed_at_low", "changed_at_high", *EVIDENCE),
        ),
        *fitted("rate_before", *ROW),
        *fitted("rate_after", *ROW),
        *fitted("ratio", *ROW),
        ratio("trend_p_value", *ROW),
        no_row(
            "changed_at_inside_limits",
            "changed_at_low > changed_at or changed_at_high < changed_at",
            (*ROW, "changed_at_low", "changed_at_high"),
            "a change lies within its own limits",
        ),
        no_row(
            "ratio_is_of_the_rates",
            "rate_before > 0 and abs(ratio - rate_after / rate_before) > 1e-9 * (1 + ratio)",
            (*ROW, "ratio", "rate_before", "rate_after"),
            "the ratio is the rate after over the rate before",
        ),
        no_row(
            "no_change_no_ratio",
            "changed_at is null and (rate_after is not null or ratio is not null or annotation is not null)",
            (*ROW, "rate_after", "ratio", "annotation"),
            "without a change there is no rate after it",
        ),
        no_finding("spans_join", SPANS_JOIN, "the rate before a change is the rate after the one before it"),
        no_finding(
            "clusters_complete",
            "select cluster_id, cluster_id as finding from marts.dim_clusters "
            "anti join (from {batch} where failure_category = 'all') using (cluster_id)",
            "every cluster has a row for all its incidents",
        ),
        *evidenced(*ROW),
    ]


SPANS_JOIN = """
    select
        cluster_id,
        concat(cluster_id, ' ', failure_category, ' ', changed_at, ': ', rate_before, ', but ', rate_between)
        as finding
    from (
        select
            *,
            lag(rate_after) over (partition by cluster_id, failure_category order by changed_at) as rate_between
        from {batch}
        where changed_at is not null
    )
    where abs(rate_before - rate_between) > 1e-9 * (1 + rate_before)
    order by finding
"""
