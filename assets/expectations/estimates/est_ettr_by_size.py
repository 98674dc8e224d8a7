"""What must hold for estimates.est_ettr_by_size: every ETTR between 0 and 1 and between its bounds."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.fitted import EVIDENCE, ettr_between_bounds, evidenced
from assets.expectations.rules import columns, finite, interval, not_negative, ratio

ROW = ("cluster_id", "gpu_size_bin")
VALUES = ("ettr_measured", "ettr_expected", "ettr_expected_exact", "ettr_expected_v2")
RATIOS = tuple(f"{value}{limit}" for value in VALUES for limit in ("", "_low", "_high"))


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(*ROW, "run_count", *RATIOS, "ettr_bound_low", "ettr_bound_high", *EVIDENCE),
        not_negative("run_count", *ROW),
        *(ratio(name, *ROW) for name in RATIOS),
        *(interval(value, *ROW) for value in VALUES),
        finite(RATIOS, *ROW),
        ettr_between_bounds(*ROW),
        *evidenced(*ROW),
    ]
