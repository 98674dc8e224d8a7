"""What must hold for estimates.est_failure_rates: possible rates, inside their intervals, of counts that agree."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.fitted import EVIDENCE, evidenced, fitted
from assets.expectations.rules import columns, no_finding, no_row, not_negative

ROW = ("cluster_id", "population", "counted_as")
RATE = "failures_per_1000_node_days"


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(
            *(*ROW, "failure_count", "failure_variance", "node_days", RATE, f"{RATE}_low", f"{RATE}_high"),
            *("is_reference", *EVIDENCE),
        ),
        *fitted(RATE, *ROW),
        not_negative("failure_count", *ROW),
        not_negative("node_days", *ROW),
        no_row(
            "variance_at_least_poisson",
            "failure_variance < failure_count * (1 - 1e-6)",
            (*ROW, "failure_count", "failure_variance"),
            "no count scatters less than failures that come one by one",
        ),
        no_row(
            "reference_never_paper",
            "is_reference and counted_as like '%_paper'",
            (*ROW, "is_reference"),
            "the rate to build on is not one by the paper's rule",
        ),
        *evidenced(*ROW),
        no_row(
            "rate_is_count_over_exposure",
            f"node_days > 0 and abs({RATE} - 1000 * failure_count / node_days) > 1e-6 * (1 + {RATE})",
            (*ROW, "failure_count", "node_days", RATE),
            "the rate is 1,000 x failures / node-days",
        ),
        no_finding("incidents_bounded", INCIDENTS_BOUNDED, "there are no more incidents than failed attempts"),
    ]


INCIDENTS_BOUNDED = """
    select
        cluster_id,
        concat(cluster_id, ' ', population, ': ', incidents, ' incidents, ', attempts, ' attempts') as finding
    from (
        select
            cluster_id,
            population,
            counted_as like '%_paper' as is_paper,
            max(failure_count) filter (counted_as like 'incidents%') as incidents,
            max(failure_count) filter (counted_as like 'attempts%') as attempts
        from {batch}
        group by all
    )
    where incidents > attempts * (1 + 1e-9)
    order by finding
"""
