"""The comparison as a page of the docs: numbers in, Markdown out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tests.docs.writers.pages import table
from tests.recovery.month import Comparison, Month
from tests.recovery.planted import Question
from tests.truth.claims import CAUSES, CULPRITS, FOUND, SHARES
from tests.truth.scorer import Claim, Measure

HEAD = """# What a refresh gives back of what was planted

**Simulated clusters.** No site knows the true cause of each of its failures, so the pipeline is tried on logs of a
simulated cluster whose faults are known. This page is made by

<!-- needs: minutes -->
```sh
{command}
```

which simulates, refreshes, and compares the published tables with the truth beside the logs: first one large cluster
at three levels of difficulty, side by side, then small clusters in which one thing was planted for one question, then
profile `{month.profile}` in detail, over {month.days} days at scale {month.scale:g} with seed {month.seed}.
`tests/truth/claims.py` says what is asked of the numbers of the detail, `tests/recovery/planted` what each question
asks for.

*Precision* is the share of what is published that is right, *recall* the share of what was planted that was found.
"""
LEVELS_HEAD = """## From easy to hard

The same cluster three times, {levels.days} days at scale {levels.scale:g} with seed {levels.seed}. `rsc2` is easy: few
checks fail without a reason, everything is kept, and maintenance waits for jobs. `rsc2-default` and `rsc2-hard` have
false alarms (70% pass within minutes, 30% last 15 minutes or more, for 10% the node is drained), checks that log only
failures, an accounting that begins and ends in the middle of jobs, nodes that jobs of one GPU share, maintenance that
kills jobs, months whose rates of faults differ (CV 0.3), and more events that strike several nodes.

The tables below it count whatever the paper's rule finds, which takes every event in the window for a cause.
"""
NOTES = """## How to read it

* **Failures that the logs show** are what attribution can be judged by. An application that dies of a fault without
  any line or check is a failure for the truth and a program's end for the logs: the second table of causes counts it,
  and no reader of logs can find it. Nor can a reader tell the first of two symptoms from the second: a failure that
  shows several is published under the most telling.
* **Incidents.** Failures that share a node or an event within ten minutes are one incident, and so are those of a
  switch's or a store's event, which strikes several nodes, each by a fault of its own: the pairs *of one incident*
  count both, the pairs *of one fault* the first. Two nodes that fail together stay two incidents: it may be chance.
* **Instigators inferred.** Where the log names nobody, there is a job named for another victim of the same moment, or
  whoever started on the nodes that came free. The second often is a third job that filled the rest of a node, or the
  job that room was made for started elsewhere.
* **Second-order preemptions** need the failure before the restart: what the logs do not show is missing here too, and
  so is the restart of a job that its user submits again after more than the 15 minutes within which jobs are one run.
* **Links of a run.** A task of an array that its user submits again alone is not linked: the two differ in what the
  rule compares.
* **Productive time.** Checkpoints are not in the logs, so a run has bounds under an assumed restart time. It is that of
  jobs on several nodes; jobs on one node restart faster, and their true time lies above the bounds by minutes.
* **r_f.** Node-days end with the last finished attempt. A 90% interval misses the planted rate in one month of ten.
"""
BY_PROBABILITY, BY_RULE = "failures with evidence, at p >= 0.5", "failures with evidence, by the paper's rule"
OF_LEVELS = (
    ("precision at p >= 0.5", BY_PROBABILITY, "published"),
    ("recall at p >= 0.5", BY_PROBABILITY, "planted"),
    ("precision of the paper's rule", BY_RULE, "published"),
    ("recall of the paper's rule", BY_RULE, "planted"),
    ("culprit node right", CULPRITS.item, "published"),
)
CHANGES = tuple(claim.item for claim in SHARES if claim.relation == "rate_changes")


def percent(share: float | None) -> str:
    """Round down: only what is whole is written as 100%."""
    return "-" if share is None else f"{math.floor(1000 * share) / 10:.1f}%"


def _against(rate: dict[str, Any], value: float | None) -> str:
    """Write another value of a rate and whether the published interval holds it."""
    return "-" if value is None else f"{value:.2f}, {'inside' if rate['low'] <= value <= rate['high'] else 'outside'}"


def _published(rate: dict[str, Any]) -> str:
    return "-" if rate["rate"] is None else f"{rate['rate']:.2f} ({rate['low']:.2f} to {rate['high']:.2f})"


def _found(measures: Iterable[Measure]) -> str:
    """Write what was planted beside what was published."""
    counts = ((m, (m.planted, m.published, m.recovered)) for m in measures)
    return table(
        ("found", "planted", "published", "right", "precision", "recall"),
        ((m.item, *(f"{n:,}" for n in numbers), percent(m.precision), percent(m.recall)) for m, numbers in counts),
    )


def _shares(claims: Iterable[Claim], measures: dict[str, tuple[Measure, ...]]) -> str:
    """Write parts of a whole with what is asked of them."""
    return table(
        ("", "count", "of", "ratio", "asked for"),
        (
            (m.item, f"{m.recovered:,.10g}", f"{m.planted:,.10g}", percent(m.recall), claim.demand)
            for claim in claims
            for m in measures[claim.item]
        ),
    )


def _rates(rates: list[dict[str, Any]]) -> str:
    return table(
        ("attempts", "failures", "node-days", "published r_f (90%)", "happened", "planted"),
        (
            (
                rate["population"],
                f"{rate['failure_count']:,} of {rate['true_failure_count']:,}",
                f"{rate['node_days']:,.0f} of {rate['true_node_days']:,.0f}",
                _published(rate),
                *(_against(rate, rate[name]) for name in ("true_rate", "planted_rate")),
            )
            for rate in rates
        ),
    )


def _levels(comparisons: list[Comparison]) -> str:
    """Write a column for each level."""

    def cells(at: Comparison) -> list[tuple[str, str]]:
        planted = at.planted
        rows = [
            ("attempts", f"{planted['attempt_count']:,}"),
            (
                "completed attempts with evidence in their window",
                f"{100 * planted['completed_share_with_evidence']:.3f}%",
            ),
            ("failed attempts for each incident", f"{planted['attempts_per_incident']:.2f}"),
            ("attempts that maintenance ended", f"{planted['planned_end_count']:,}"),
        ]
        for name, item, of in OF_LEVELS:
            m = at.measure(item)
            whole = getattr(m, of)
            rows.append((name, f"{percent(m.recovered / whole if whole else None)} ({m.recovered:,} of {whole:,})"))
        for rate in at.rates:
            rows += [
                (f"r_f of `{rate['population']}`, published (90%)", _published(rate)),
                ("... as the logs show it", _against(rate, rate["visible_rate"])),
                ("... happened", _against(rate, rate["true_rate"])),
                ("... planted", _against(rate, rate["planted_rate"])),
            ]
        return rows + [(m.item, f"{m.recovered:,} of {m.planted:,}") for m in map(at.measure, CHANGES)]

    columns = [cells(comparison) for comparison in comparisons]
    header = ("", *(f"`{comparison.planted['cluster_id']}`" for comparison in comparisons))
    return table(header, ((row[0][0], *(value for _, value in row)) for row in zip(*columns, strict=True)))


def questions_part(asked: Iterable[tuple[Question, dict[str, tuple[Measure, ...]]]]) -> list[str]:
    """Write a part of the page for each question."""
    return [
        part for question, measures in asked for part in (f"## {question.title}\n", _shares(question.claims, measures))
    ]


def _cluster(comparison: Comparison) -> list[str]:
    planted, measures = comparison.planted, comparison.measures
    shown, true = (measures[claim.item] for claim in CAUSES)
    return [
        f"## Cluster `{planted['cluster_id']}` (simulated)\n",
        f"{planted['node_count']:,} nodes, {planted['days']} days, {planted['attempt_count']:,} attempts, "
        f"{planted['failed_attempt_count']:,} of them ended by a fault.\n",
        _found(m for claim in FOUND for m in measures[claim.item]),
        "Causes, of the failures that the logs show:\n",
        _found(shown),
        "Causes, of all that happened:\n",
        _found(true),
        "Shares:\n",
        _shares(SHARES, measures),
        "Failures per 1,000 node-days, counted as attempts:\n",
        _rates(comparison.rates),
    ]


def page(
    command: str,
    month: Month,
    comparisons: Iterable[Comparison],
    levels: Month,
    by_level: list[Comparison],
    asked: Iterable[tuple[Question, dict[str, tuple[Measure, ...]]]],
) -> str:
    """Write the whole page, which says the command that makes it."""
    parts = [HEAD.format(command=command, month=month)]
    if by_level:
        parts += [LEVELS_HEAD.format(levels=levels), _levels(by_level)]
    parts += questions_part(asked)
    parts += [part for comparison in comparisons for part in _cluster(comparison)]
    return "\n".join([*parts, NOTES])
