"""What must hold for estimates.est_checkpoint_plans: plans inside their intervals, and harder ones for larger runs."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.fitted import EVIDENCE, evidenced, fitted
from assets.expectations.rules import columns, no_finding, no_row, not_negative, ratio

ROW = ("cluster_id", "gpu_count")
FITTED = (
    "failures_per_1000_node_days",
    "mttf_hours",
    "expected_interruptions",
    "checkpoint_minutes_optimal",
    "ettr_optimal",
)
INTERVALS = ("checkpoint_minutes_young", "checkpoint_minutes_daly", "checkpoint_minutes_optimal")
RATIOS = ("ettr_optimal", "ettr_run_low", "ettr_run_high", "probability_ettr_ge_target")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(*ROW, *FITTED, *INTERVALS, *RATIOS, "ettr_target", *EVIDENCE),
        *(rule for value in FITTED for rule in fitted(value, *ROW)),
        *(not_negative(name, *ROW) for name in INTERVALS[:2]),
        *(ratio(name, *ROW) for name in RATIOS),
        no_row(
            "run_limits_in_order",
            "ettr_run_low > ettr_run_high",
            (*ROW, "ettr_run_low", "ettr_run_high"),
            "ettr_run_low <= ettr_run_high",
        ),
        no_row(
            "no_failure_no_plan",
            "event_count = 0 and (checkpoint_minutes_optimal is not null or probability_ettr_ge_target is not null)",
            (*ROW, "event_count", "checkpoint_minutes_optimal", "probability_ettr_ge_target"),
            "without a failure there are bounds, no plan",
        ),
        no_finding("harder_when_larger", HARDER_WHEN_LARGER, "a larger run does not reach a higher ETTR"),
        *evidenced(*ROW),
    ]


HARDER_WHEN_LARGER = """
    select
        cluster_id,
        concat(cluster_id, ': ', ettr_optimal, ' with ', gpu_count, ' GPUs, ', smaller, ' with fewer') as finding
    from (
        select
            cluster_id,
            gpu_count,
            ettr_optimal,
            lag(ettr_optimal) over (partition by cluster_id order by gpu_count) as smaller
        from {batch}
    )
    where ettr_optimal > smaller + 1e-9
    order by finding
"""
