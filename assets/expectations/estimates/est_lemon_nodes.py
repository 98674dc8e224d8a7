"""What must hold for estimates.est_lemon_nodes: probabilities, ranks without gaps, and verdicts they support."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.fitted import EVIDENCE, evidenced, fitted
from assets.expectations.rules import columns, no_finding, no_row, not_negative, one_of, ratio

ROW = ("cluster_id", "node_id")
PROBABILITIES = ("posterior_probability", "local_fdr", "false_discovery_ratio", "p_value")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(*ROW, "rank", *PROBABILITIES, "rate", "rate_low", "rate_high", "reasons", "verdict", *EVIDENCE),
        one_of("verdict", ("lemon", "watch", "ok", "not enough data"), "the verdict is one of four"),
        *(ratio(name, *ROW) for name in PROBABILITIES),
        *fitted("rate", *ROW),
        not_negative("inferred_failure_count", *ROW),
        not_negative("days_since_last_failure", *ROW),
        no_row(
            "probabilities_complete",
            "abs(posterior_probability + local_fdr - 1) > 1e-9",
            (*ROW, "posterior_probability", "local_fdr"),
            "a node is a lemon or it is none",
        ),
        no_row(
            "lemons_are_supported",
            "verdict = 'lemon' and not coalesce(posterior_probability >= 0.7 and false_discovery_ratio <= 0.1 "
            "and event_count + inferred_failure_count >= 2, false)",
            (*ROW, "posterior_probability", "false_discovery_ratio", "event_count"),
            "a lemon has a probability of 0.7 or more, is on a list with at most 10% wrong names, and failed twice",
        ),
        no_row(
            "unranked_says_why",
            "rank is null and note is null",
            ROW,
            "where nodes are not ranked, the note says why",
        ),
        no_finding("ranks_complete", RANKS_COMPLETE, "ranks run from 1 to the number of nodes"),
        *evidenced(*ROW),
    ]


RANKS_COMPLETE = """
    select
        cluster_id,
        concat(cluster_id, ': ', count(distinct rank), ' ranks up to ', max(rank), ', ', count(*), ' nodes') as finding
    from {batch}
    group by cluster_id
    having count(rank) > 0 and (count(distinct rank) <> count(*) or max(rank) <> count(*) or min(rank) <> 1)
    order by finding
"""
