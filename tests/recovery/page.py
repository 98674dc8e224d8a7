"""The comparison as a page of the docs: numbers in, Markdown out."""

from __future__ import annotations

from collections.abc import Iterable

from tests.docs.writers.pages import table
from tests.recovery.cells import against, percent, published
from tests.recovery.comparison import Comparison, Rate, Score, Share
from tests.recovery.levels import levels_part
from tests.recovery.month import Levels, Month

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
`tests/recovery/test_recovery.py` asserts the numbers of the detail on the default month,
`tests/recovery/test_planted.py` what each question asks for.

*Precision* is the share of what is published that is right, *recall* the share of what was planted that was found.
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


def _scores(scores: Iterable[Score], what: str) -> str:
    return table(
        (what, "planted", "published", "right", "precision", "recall"),
        (
            (
                s.item,
                f"{s.planted:,}",
                f"{s.published:,}",
                f"{s.recovered:,}",
                percent(s.precision),
                percent(s.recall),
            )
            for s in scores
        ),
    )


def _shares(shares: Iterable[Share]) -> str:
    return table(
        ("", "count", "of", "ratio"), ((s.item, f"{s.count:,}", f"{s.total:,}", percent(s.ratio)) for s in shares)
    )


def _rates(rates: Iterable[Rate]) -> str:
    return table(
        ("attempts", "failures", "node-days", "published r_f (90%)", "happened", "planted"),
        (
            (
                rate.population,
                f"{rate.failure_count:,} of {rate.true_failure_count:,}",
                f"{rate.node_days:,.0f} of {rate.true_node_days:,.0f}",
                published(rate),
                against(rate, rate.true_rate),
                against(rate, rate.planted_rate),
            )
            for rate in rates
        ),
    )


def _cluster(comparison: Comparison) -> str:
    planted, scores = comparison.planted, comparison.scores
    together = [name for name in scores if not name.endswith("_causes")]
    return "\n".join(
        (
            f"## Cluster `{planted['cluster_id']}` (simulated)\n",
            f"{planted['node_count']:,} nodes, {planted['days']} days, {planted['attempt_count']:,} attempts, "
            f"{planted['failed_attempt_count']:,} of them ended by a fault.\n",
            _scores((score for name in together for score in scores[name]), "found"),
            "Causes, of the failures that the logs show:\n",
            _scores(scores["visible_causes"], "category"),
            "Causes, of all that happened:\n",
            _scores(scores["true_causes"], "category"),
            "Shares:\n",
            _shares(share for shares in comparison.shares.values() for share in shares),
            "Failures per 1,000 node-days, counted as attempts:\n",
            _rates(comparison.rates),
        )
    )


def command(month: Month, levels: Levels) -> str:
    """Give the command that makes the page of this month and these levels."""
    options = []
    for prefix, chosen, default in (("", month, Month()), ("levels-", levels, Levels(seed=month.seed))):
        options += [
            f" --{prefix}{name} {value:g}" if isinstance(value, float) else f" --{prefix}{name} {value}"
            for name, value in vars(chosen).items()
            if value != getattr(default, name)
        ]
    return f"python -m tests.recovery --write docs/recovery.md{''.join(options)}"


def page(
    month: Month,
    comparisons: Iterable[Comparison],
    levels: Levels,
    by_level: list[Comparison],
    planted: Iterable[str],
) -> str:
    """Write the whole page; `planted` are the parts of the questions of `tests/recovery/planted`."""
    head = HEAD.format(command=command(month, levels), month=month)
    return "\n".join((head, *levels_part(levels, by_level), *planted, *map(_cluster, comparisons), NOTES))
