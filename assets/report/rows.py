"""Rows that Python makes from the rows of a cluster, by the name that templates use for them."""

from __future__ import annotations

from collections.abc import Callable

from assets.report.actions import pays, pays_below
from assets.report.advice import advise
from assets.report.explained.nodes import blamed
from assets.report.figures.over_time import marks_of
from assets.report.figures.recorded import recorded_causes
from assets.report.gaps import gaps_of, spans_of, unmapped_of
from assets.report.queries import ClusterData, Row
from assets.report.what_if import start_of, what_if


def nodes_of(data: ClusterData) -> list[Row]:
    """Add to each node, in words, its incidents, the advice, and when taking it out pays."""
    said = {"advice": advise, "blamed": blamed, "pays": pays, "pays_below": pays_below}
    return [row | {name: say(row) for name, say in said.items()} for row in data.rows("nodes")]


DERIVED: dict[str, Callable[[ClusterData], list[Row]]] = {
    "gaps": gaps_of,
    "marks": marks_of,
    "recorded_causes": recorded_causes,
    "covered": spans_of,
    "nodes": nodes_of,
    "unknown_signals": unmapped_of,
    "what_if": lambda data: [what_if(start_of(data))],
}
