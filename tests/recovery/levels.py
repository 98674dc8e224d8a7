"""The part of the page that shows one cluster at several levels of difficulty, side by side."""

from __future__ import annotations

from tests.docs.writers.pages import table
from tests.recovery.cells import against, percent, published
from tests.recovery.comparison import Comparison, Score
from tests.recovery.month import Levels

HEAD = """## From easy to hard

The same cluster three times, {levels.days} days at scale {levels.scale:g} with seed {levels.seed}. `rsc2` is easy: few
checks fail without a reason, everything is kept, and maintenance waits for jobs. `rsc2-default` and `rsc2-hard` have
false alarms (70% pass within minutes, 30% last 15 minutes or more, for 10% the node is drained), checks that log only
failures, an accounting that begins and ends in the middle of jobs, nodes that jobs of one GPU share, maintenance that
kills jobs, months whose rates of faults differ (CV 0.3), and more events that strike several nodes.

The tables below it count whatever the paper's rule finds, which takes every event in the window for a cause.
"""


Cell = tuple[str, str]


def _right(score: Score) -> str:
    return f"{percent(score.precision)} ({score.recovered:,} of {score.published:,})"


def _found(score: Score) -> str:
    return f"{percent(score.recall)} ({score.recovered:,} of {score.planted:,})"


def _column(comparison: Comparison) -> list[Cell]:
    """Give names and values of what is compared between the levels."""
    planted = comparison.planted
    probable = comparison.score("attribution", "failures with evidence, at p >= 0.5")
    by_rule = comparison.score("attribution", "failures with evidence, by the paper's rule")
    culprits = comparison.score("culprits", "culprit nodes")
    cells = [
        ("attempts", f"{planted['attempt_count']:,}"),
        ("completed attempts with evidence in their window", f"{100 * planted['completed_share_with_evidence']:.3f}%"),
        ("failed attempts for each incident", f"{planted['attempts_per_incident']:.2f}"),
        ("attempts that maintenance ended", f"{planted['planned_end_count']:,}"),
        ("precision at p >= 0.5", _right(probable)),
        ("recall at p >= 0.5", _found(probable)),
        ("precision of the paper's rule", _right(by_rule)),
        ("recall of the paper's rule", _found(by_rule)),
        ("culprit node right", _right(culprits)),
    ]
    for rate in comparison.rates:
        cells += [
            (f"r_f of `{rate.population}`, published (90%)", published(rate)),
            ("... as the logs show it", against(rate, rate.visible_rate)),
            ("... happened", against(rate, rate.true_rate)),
            ("... planted", against(rate, rate.planted_rate)),
        ]
    changes = comparison.shares["rate_changes"]
    return cells + [(share.item, f"{share.count:,} of {share.total:,}") for share in changes]


def levels_part(levels: Levels, comparisons: list[Comparison]) -> list[str]:
    """Write the part; nothing where no level was simulated."""
    if not comparisons:
        return []
    header = ("", *(f"`{comparison.planted['cluster_id']}`" for comparison in comparisons))
    columns = [_column(comparison) for comparison in comparisons]
    rows = ((cells[0][0], *(value for _, value in cells)) for cells in zip(*columns, strict=True))
    return [HEAD.format(levels=levels), table(header, rows)]
