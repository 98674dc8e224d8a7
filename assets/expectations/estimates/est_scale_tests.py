"""What must hold for estimates.est_scale_tests: a verdict that says what the limits say."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.fitted import EVIDENCE, evidenced
from assets.expectations.rules import columns, finite, interval, no_finding, no_row, not_negative, one_of, ratio

ROW = ("cluster_id",)
VERDICTS = ("constant", "grows", "falls", "cannot tell")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(*ROW, "beta", "beta_low", "beta_high", "p_value", "is_equivalent", "dispersion", "verdict", *EVIDENCE),
        interval("beta", *ROW),
        finite(("beta", "beta_low", "beta_high", "dispersion"), *ROW),
        ratio("p_value", *ROW),
        not_negative("dispersion", *ROW),
        one_of("verdict", VERDICTS, "the verdict is one of four"),
        no_row(
            "verdict_follows_limits",
            "(verdict = 'constant') is distinct from coalesce(is_equivalent, false) "
            "or (verdict = 'grows' and not coalesce(beta_low > 0, false)) "
            "or (verdict = 'falls' and not coalesce(beta_high < 0, false))",
            (*ROW, "verdict", "is_equivalent", "beta_low", "beta_high"),
            "constant is what is equivalent, grows lies above 0, falls below",
        ),
        no_row(
            "equivalent_within_margin",
            "is_equivalent and not coalesce(beta_low > -equivalence_margin and beta_high < equivalence_margin, false)",
            (*ROW, "beta_low", "beta_high", "equivalence_margin"),
            "what is equivalent has its limits within the margin",
        ),
        no_finding(
            "clusters_complete",
            "select cluster_id, cluster_id as finding from marts.dim_clusters anti join {batch} using (cluster_id)",
            "every cluster has its row",
        ),
        *evidenced(*ROW),
    ]
