"""What must hold for estimates.est_mttf_projections: positive times inside their intervals, shorter for larger jobs."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.fitted import EVIDENCE, evidenced, fitted
from assets.expectations.rules import columns, no_finding, no_row

ROW = ("cluster_id", "gpu_count")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(*ROW, "mttf_hours", "mttf_hours_low", "mttf_hours_high", *EVIDENCE),
        *fitted("mttf_hours", *ROW),
        *fitted("failures_30d", *ROW),
        no_row("mttf_positive", "mttf_hours <= 0", (*ROW, "mttf_hours"), "a mean time to failure is positive"),
        no_row("gpu_count_positive", "gpu_count <= 0", (*ROW,), "a projection is for at least one GPU"),
        no_finding("shorter_when_larger", SHORTER_WHEN_LARGER, "a larger job does not live longer"),
        *evidenced(*ROW),
    ]


SHORTER_WHEN_LARGER = """
    select
        cluster_id,
        concat(cluster_id, ': ', mttf_hours, ' h with ', gpu_count, ' GPUs, ', smaller, ' h with fewer') as finding
    from (
        select
            cluster_id,
            gpu_count,
            mttf_hours,
            lag(mttf_hours) over (partition by cluster_id order by gpu_count) as smaller
        from {batch}
    )
    where mttf_hours > smaller * (1 + 1e-9)
    order by finding
"""
