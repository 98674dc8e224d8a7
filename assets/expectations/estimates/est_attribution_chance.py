"""What must hold for estimates.est_attribution_chance: shares inside their intervals, corrected downwards only."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.fitted import corrected_for_chance

ROW = ("cluster_id", "failure_category")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return corrected_for_chance(*ROW)
