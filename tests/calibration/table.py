"""The calibration table as a page of Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tests.calibration.rows import CHANCE, Row, shown
from tests.docs.writers.pages import table

INTRODUCTION = """# The simulated clusters and the paper

Kokolis et al., *Revisiting Reliability in Large-Scale Machine Learning Research Clusters* (HPCA 2025), describe two
clusters, RSC-1 and RSC-2. The profiles `rsc1` and `rsc2` simulate clusters like them. This page compares what their
logs show with the paper's values. It is written by `{command}`.

A failure on this page is one that the logs show: NODE_FAIL, or FAILED or REQUEUED with a critical event on one of the
attempt's nodes from ten minutes before its end to five minutes after. Shares are of attempts that have ended. If the
paper has words instead of a number, the tolerance is a condition that represents them.
"""
COLUMNS = ("figure", "quantity", "cluster", "paper", "simulated", "tolerance", "inside", "counted")


def render(rows: Sequence[Row], command: str) -> str:
    """Return the page: an introduction, the number of rows inside, and the table.

    Parameters
    ----------
    rows
        The rows in the order to show them.
    command
        The command that writes the same page again.
    """
    return "\n".join(
        [INTRODUCTION.format(command=command), summary(rows), "", table(COLUMNS, map(_cells, rows), COLUMNS)]
    )


def summary(rows: Sequence[Row]) -> str:
    """Return a sentence: how many rows are inside, and how many were not judged."""
    judged = [row for row in rows if row.is_judged]
    outside = sum(not row.is_inside for row in judged)
    text = f"**{len(judged) - outside} of {len(judged)} rows are inside their tolerance.**"
    left = len(rows) - len(judged)
    if left:
        text += (
            f" This is a part of the clusters: {left} rows that only the whole can show are not judged, and the"
            f" tolerances of the others are widened by {CHANCE:.0f} standard errors."
        )
    return text


def _cells(row: Row) -> list[str]:
    unit = row.unit if row.unit in {"", "%"} else f" {row.unit}"
    has_number = row.band.paper.lstrip("<> ")[:1].isdigit()
    paper = row.band.paper + (unit if has_number else "")
    value = shown(row.value) + ("" if math.isnan(row.value) else unit)
    return [row.figure, row.quantity, row.cluster, paper, value, row.band.tolerance, row.verdict, row.counted]
