"""What must hold for estimates.est_lemon_effects: shares inside their limits, and parts that make the whole."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.fitted import EVIDENCE, evidenced
from assets.expectations.rules import columns, interval, no_finding, no_row, not_negative, one_of, ratio

ROW = ("cluster_id", "population")
POPULATIONS = ("all", "all_without_lemon_failures", "with_lemon_node", "without_lemon_node")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(*ROW, "failure_ratio", "attempt_count", "failure_count", "large_gpu_count", *EVIDENCE),
        one_of("population", POPULATIONS, "the population is one of four"),
        ratio("failure_ratio", *ROW),
        interval("failure_ratio", *ROW),
        not_negative("attempt_count", *ROW),
        no_row(
            "failures_are_attempts",
            "failure_count not between 0 and attempt_count",
            (*ROW, "failure_count", "attempt_count"),
            "no more attempts failed than there were",
        ),
        no_finding("parts_make_the_whole", PARTS_MAKE_THE_WHOLE, "with and without a lemon are all attempts"),
        *evidenced(*ROW),
    ]


PARTS_MAKE_THE_WHOLE = """
    select cluster_id, concat(cluster_id, ': ', parts, ' with or without, ', whole, ' all') as finding
    from (
        select
            cluster_id,
            sum(attempt_count) filter (population in ('with_lemon_node', 'without_lemon_node')) as parts,
            sum(attempt_count) filter (population = 'all') as whole
        from {batch}
        group by cluster_id
    )
    where parts is distinct from whole
    order by finding
"""
