"""The comparison as a page of the docs: numbers in, Markdown out."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from itertools import chain
from typing import Any

from tests.docs.writers.pages import table
from tests.recovery.month import Comparison, Month
from tests.recovery.planted import Question
from tests.truth.claims import CAUSES, CULPRITS, FOUND, SHARES
from tests.truth.scorer import Claim, Measure

HEAD = """# What a refresh gives back of what was planted

**Simulated clusters.** No site knows the true cause of each of its failures, so the pipeline is tried on logs of
simulated clusters whose faults are known. This page is made by

<!-- needs: minutes -->
```sh
{command}
```

which simulates, refreshes, and compares the published tables with the truth: one large cluster at three levels of
difficulty, small clusters in which one thing is planted for one question, and profile `{month.profile}` in detail.
*Precision* is the share of what is published that is right, *recall* the share of what was planted that was found. What
is asked stands in brackets, and **missed** follows what was not met (`tests/truth/claims.py`,
`tests/recovery/planted`).
"""
LEVELS_HEAD = """## From easy to hard

The same cluster three times, {levels.days} days at scale {levels.scale:g} with seed {levels.seed}. In
`rsc2`, few checks fail without a reason, everything is kept, and maintenance waits for jobs. The others have false
alarms, checks that log only failures, accounting that begins and ends in the middle of jobs, nodes that jobs share,
maintenance that kills jobs, months that differ (CV 0.3), and more events that strike several nodes. The rates count
what the paper's rule finds, which takes every event in the window for a cause.
"""
NOTES = """## How to read it

* **Failures that the logs show** are what attribution can be judged by. An application that dies of a fault without
  any line or check looks like a program's end. A failure with symptoms of two causes has the one that the taxonomy
  ranks first.
* **Incidents.** Failures that share a node or an event within ten minutes are one incident. An event of a switch or a
  store strikes several nodes, each by a fault of its own: pairs *of one incident* count these, pairs *of one fault* do
  not.
* **Instigators inferred.** Where the log names no job, the instigator is a job that is named for another victim of the
  same moment, or whichever started on the nodes that became free.
* **Second-order preemptions** are missed where the logs do not show the failure before the restart, or where the user
  submits the job again after more than 15 minutes.
* **Productive time.** Checkpoints are not in the logs, so a run has bounds under an assumed restart time, that of jobs
  on several nodes. Jobs on one node restart faster: their true time lies above the bounds by minutes.
* **r_f.** A 90% interval misses the planted rate in one month of ten.
"""
BY_PROBABILITY, BY_RULE = "failures with evidence, at p >= 0.5", "failures with evidence, by the paper's rule"
OF_LEVELS = (
    ("precision at p >= 0.5", BY_PROBABILITY, "published"),
    ("recall at p >= 0.5", BY_PROBABILITY, "planted"),
    ("precision of the paper's rule", BY_RULE, "published"),
    ("culprit node right", CULPRITS.item, "published"),
)
CHANGES = "planted changes of rate, by half or more, that were found"


def percent(share: float | None) -> str:
    """Round down: only what is whole is written as 100%."""
    return "-" if share is None else f"{math.floor(1000 * share) / 10:.1f}%"


def _against(rate: dict[str, Any], value: float | None) -> str:
    """Write another value of a rate and whether the published interval holds it."""
    return "-" if value is None else f"{value:.2f}, {'inside' if rate['low'] <= value <= rate['high'] else 'outside'}"


def _published(rate: dict[str, Any]) -> str:
    return "-" if rate["rate"] is None else f"{rate['rate']:.2f} ({rate['low']:.2f} to {rate['high']:.2f})"


def _found(comparisons: list[Comparison]) -> list[str]:
    """Write what was planted and published in each cluster, causes as one; what is whole in all is only named."""
    whole, rows = [], []
    for claim in (*FOUND, *CAUSES):
        by_cluster = [comparison.measures[claim.item] for comparison in comparisons]
        found = [_sum(claim, measures) for measures in by_cluster]
        if all({m.precision, m.recall} <= {1, None} for m in found):
            whole.append(claim.item)
            continue
        cells = ((f"{m.planted:,}", percent(m.precision), percent(m.recall)) for m in found)
        rows.append((f"{claim.item}{_missed(claim, chain(*by_cluster))}", *chain(*cells)))
    header = [(f"`{at.planted['cluster_id']}`: planted", "precision", "recall") for at in comparisons]
    named = f"Precision and recall are 100% in all clusters for: {'; '.join(whole)}."
    return [textwrap.fill(named, 120) + "\n", table(("found", *chain(*header)), rows)]


def _missed(claim: Claim, measures: Iterable[Measure]) -> str:
    return "" if all(map(claim.holds, measures)) else " **missed**"


def _sum(claim: Claim, measures: Iterable[Measure]) -> Measure:
    counts = zip(*((m.recovered, m.planted, m.published or 0) for m in measures), strict=True)
    return Measure(claim.item, *map(sum, counts))


def _shares(claims: Iterable[Claim], *clusters: dict[str, tuple[Measure, ...]]) -> str:
    """Write parts of a whole, for each cluster in turn, with what is asked of them."""

    def line(claim: Claim) -> str:
        found = [measure for measures in clusters for measure in measures[claim.item]]
        parts = ", ".join(f"{percent(m.recall)} of {m.planted:,.0f}" for m in found)
        asked = f" ({claim.demand})" if claim.is_asked else ""
        return f"* {claim.item}: {parts}{asked}{_missed(claim, found)}\n"

    return "".join(map(line, claims))


def _rates(comparisons: list[Comparison]) -> str:
    return table(
        ("cluster", "attempts", "failures", "published r_f (90%)", "happened", "planted"),
        (
            (
                at.planted["cluster_id"],
                rate["population"],
                f"{rate['failure_count']:,.0f} of {rate['true_failure_count']:,}",
                _published(rate),
                *(_against(rate, rate[name]) for name in ("true_rate", "planted_rate")),
            )
            for at in comparisons
            for rate in at.rates
        ),
    )


def _levels(comparisons: list[Comparison]) -> str:
    """Write a column for each level."""

    def cells(at: Comparison) -> list[tuple[str, str]]:
        planted = at.planted
        evidence = f"{100 * planted['completed_share_with_evidence']:.3f}%"
        rows = [
            ("attempts", f"{planted['attempt_count']:,}"),
            ("completed attempts with evidence in their window", evidence),
        ]
        for name, item, of in OF_LEVELS:
            m = at.measure(item)
            whole = getattr(m, of)
            rows.append((name, f"{percent(m.recovered / whole if whole else None)} of {whole:,}"))
        for rate in at.rates:
            rows += [
                (f"r_f of `{rate['population']}`, published (90%)", _published(rate)),
                ("... happened", _against(rate, rate["true_rate"])),
                ("... planted", _against(rate, rate["planted_rate"])),
            ]
        changes = at.measure(CHANGES)
        return [*rows, (CHANGES, f"{changes.recovered:,} of {changes.planted:,}")]

    columns = [cells(comparison) for comparison in comparisons]
    header = ("", *(f"`{comparison.planted['cluster_id']}`" for comparison in comparisons))
    rows = ((row[0][0], *(value for _, value in row)) for row in zip(*columns, strict=True))
    return table(header, (row for row in rows if {*row[1:]} != {"-"}))


def questions_part(asked: Iterable[tuple[Question, dict[str, tuple[Measure, ...]]]]) -> list[str]:
    """Write a part of the page for each question."""
    return [
        part for question, measures in asked for part in (f"## {question.title}\n", _shares(question.claims, measures))
    ]


def _detail(month: Month, comparisons: list[Comparison]) -> list[str]:
    clusters = (
        f"`{planted['cluster_id']}` has {planted['node_count']:,} nodes and {planted['attempt_count']:,} attempts, "
        f"{planted['failed_attempt_count']:,} of them ended by a fault."
        for planted in (at.planted for at in comparisons)
    )
    return [
        "## In detail\n",
        f"Profile `{month.profile}`, {month.days} days at scale {month.scale:g} with seed {month.seed}:\n",
        "".join(f"* {cluster}\n" for cluster in clusters),
        *_found(comparisons),
        "Shares in each of the clusters:\n",
        _shares(SHARES, *(at.measures for at in comparisons)),
        "Failures per 1,000 node-days, counted as attempts:\n",
        _rates(comparisons),
    ]


def page(
    command: str,
    month: Month,
    comparisons: list[Comparison],
    levels: Month,
    by_level: list[Comparison],
    asked: Iterable[tuple[Question, dict[str, tuple[Measure, ...]]]],
) -> str:
    """Write the whole page, which says the command that makes it."""
    parts = [HEAD.format(command=command, month=month)]
    if by_level:
        parts += [LEVELS_HEAD.format(levels=levels), _levels(by_level)]
    parts += questions_part(asked)
    return "\n".join([*parts, *_detail(month, comparisons), NOTES])
