"""What must hold for estimates.est_forecast_scores: possible forecasts, and scores of months that are over alone."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.fitted import EVIDENCE, evidenced, fitted
from assets.expectations.rules import columns, finite, no_finding, no_row, not_negative

ROW = ("cluster_id", "month_date")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(*ROW, "failure_count", "failures_expected", "rate_expected", "log_score", "log_score_naive", *EVIDENCE),
        *fitted("failures_expected", *ROW),
        *fitted("rate_expected", *ROW),
        *(not_negative(name, *ROW) for name in ("failure_count", "node_days", "node_days_expected")),
        finite(("log_score", "log_score_naive"), *ROW, check="scores_finite"),
        no_row("scores_of_probabilities", "log_score > 1e-9", (*ROW, "log_score"), "no probability is above 1"),
        no_row(
            "only_what_is_over_is_scored",
            "not is_over and (log_score is not null or has_rate_inside is not null or failure_count is not null)",
            (*ROW, "log_score", "failure_count"),
            "a month is scored once it is over",
        ),
        *evidenced(*ROW),
        no_finding("history_is_what_came_before", HISTORY, "a forecast rests on the months before it and on no other"),
    ]


HISTORY = """
    select
        cluster_id,
        concat(cluster_id, ' ', month_date, ': ', exposure, ' node-days, ', before, ' before it') as finding
    from (
        select
            cluster_id,
            month_date,
            exposure,
            coalesce(sum(month_node_days) over (
                partition by cluster_id order by month_date rows between unbounded preceding and 1 preceding
            ), 0) as before
        from {batch}
    )
    where abs(exposure - before) > 1e-6 * (1 + before)
    order by finding
"""
