"""Rows that Python makes of a cluster's rows, by the name that templates call them, as those of queries are."""

from __future__ import annotations

from collections.abc import Callable

from assets.report.gaps import gaps_of, spans_of, unmapped_of
from assets.report.queries import Own, Row
from assets.report.what_if import start_of, what_if

DERIVED: dict[str, Callable[[Own], list[Row]]] = {
    "gaps": gaps_of,
    "covered": spans_of,
    "unknown_signals": unmapped_of,
    "what_if": lambda own: [what_if(start_of(own))],
}
