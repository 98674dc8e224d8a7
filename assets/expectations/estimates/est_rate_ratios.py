"""What must hold for estimates.est_rate_ratios: ratios of their own counts, and p-values that agree with the limits."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.fitted import EVIDENCE, evidenced, fitted
from assets.expectations.rules import columns, no_row, not_negative, one_of, ratio

ROW = ("comparison", "cluster_id", "other_cluster_id", "boundary_date", "population", "counted_as")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(*ROW, "ratio", "ratio_low", "ratio_high", "p_value", "is_reference", *EVIDENCE),
        one_of("comparison", ("clusters", "halves", "annotation"), "clusters or periods are compared"),
        *fitted("ratio", *ROW),
        ratio("p_value", *ROW),
        *(
            not_negative(name, *ROW)
            for name in ("failure_count", "node_days", "other_failure_count", "other_node_days")
        ),
        no_row(
            "ratio_is_of_its_counts",
            "abs(ratio * (other_failure_count / other_node_days) - failure_count / node_days) "
            "> 1e-9 * (1 + failure_count / node_days)",
            (*ROW, "ratio", "failure_count", "node_days", "other_failure_count", "other_node_days"),
            "the ratio is the first rate over the second",
        ),
        no_row(
            "p_value_agrees_with_limits",
            "abs(p_value - (1 - confidence_level)) > 1e-9 and (p_value < 1 - confidence_level) "
            "!= (coalesce(ratio_low > 1, false) or coalesce(ratio_high < 1, false))",
            (*ROW, "p_value", "ratio_low", "ratio_high"),
            "the rates differ by the p-value exactly where the limits leave 1 out",
        ),
        no_row(
            "sides_differ",
            "(comparison = 'clusters') = (cluster_id = other_cluster_id)",
            ROW,
            "clusters are compared with other clusters, periods within their own",
        ),
        *evidenced(*ROW),
    ]
