"""Rows that Python makes of a cluster's rows, by the name that templates call them, as those of queries are."""

from __future__ import annotations

from collections.abc import Callable

from assets.report.figures.over_time import marks_of
from assets.report.figures.recorded import recorded_causes
from assets.report.gaps import gaps_of, spans_of, unmapped_of
from assets.report.queries import Own, Row

DERIVED: dict[str, Callable[[Own], list[Row]]] = {
    "gaps": gaps_of,
    "marks": marks_of,
    "recorded_causes": recorded_causes,
    "covered": spans_of,
    "unknown_signals": unmapped_of,
}
