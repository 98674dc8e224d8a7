"""What must hold for estimates.est_ettr_by_qos: every ETTR between 0 and 1 and between its bounds."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.fitted import EVIDENCE, ettr_between_bounds, evidenced
from assets.expectations.rules import columns, finite, interval, not_negative, ratio

ROW = ("cluster_id", "qos", "gpu_size_bin")
RATIOS = ("ettr_measured", "ettr_measured_low", "ettr_measured_high")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(*ROW, "run_count", *RATIOS, "ettr_bound_low", "ettr_bound_high", *EVIDENCE),
        not_negative("run_count", *ROW),
        *(ratio(name, *ROW) for name in RATIOS),
        interval("ettr_measured", *ROW),
        finite(RATIOS, *ROW),
        ettr_between_bounds(*ROW),
        *evidenced(*ROW),
    ]
