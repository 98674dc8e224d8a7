"""What must hold for estimates.est_attribution_windows: shares inside their intervals, corrected downwards only."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.fitted import EVIDENCE, evidenced, fitted
from assets.expectations.rules import columns, no_row, ratio

ROW = ("cluster_id", "before_seconds", "after_seconds")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(*ROW, "attributed_ratio", "chance_ratio", "corrected_ratio", *EVIDENCE),
        *fitted("attributed_ratio", *ROW),
        *fitted("chance_ratio", *ROW),
        *fitted("corrected_ratio", *ROW),
        ratio("attributed_ratio", *ROW),
        ratio("chance_ratio", *ROW),
        ratio("corrected_ratio", *ROW),
        *evidenced(*ROW),
        no_row(
            "corrected_downwards",
            "corrected_ratio > attributed_ratio + 1e-9",
            (*ROW, "corrected_ratio", "attributed_ratio"),
            "taking chance off makes no share larger",
        ),
    ]
