"""What must hold for estimates.est_lemon_evaluations: shares inside their limits, of counts that agree."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.fitted import EVIDENCE, evidenced, fitted
from assets.expectations.rules import columns, in_order, interval, no_row, not_negative, ratio

ROW = ("cluster_id", "window_end_date")
COUNTS = ("listed_count", "named_count", "bad_count", "judged_count", "large_job_count")
RATIOS = ("precision", "recall", "large_job_failure_ratio", "large_job_failure_ratio_without_lemons")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(*ROW, *COUNTS, *RATIOS, "lift", "lost_gpu_hours_avoidable", *EVIDENCE),
        *(not_negative(name, *ROW) for name in COUNTS),
        *(ratio(name, *ROW) for name in RATIOS),
        *(interval(name, *ROW) for name in RATIOS),
        *fitted("lift", *ROW),
        *fitted("lost_gpu_hours_avoidable", *ROW),
        in_order("window_end_date", "judged_end_date", "cluster_id"),
        no_row(
            "named_are_judged",
            "named_count > least(listed_count, judged_count) or bad_count > judged_count",
            (*ROW, *COUNTS),
            "who is named was listed, and only nodes in use are judged",
        ),
        no_row(
            "fewer_failures_without_lemons",
            "large_job_failure_ratio_without_lemons > large_job_failure_ratio",
            (*ROW, "large_job_failure_ratio", "large_job_failure_ratio_without_lemons"),
            "without some of its causes a failure is not more frequent",
        ),
        *evidenced(*ROW),
    ]
