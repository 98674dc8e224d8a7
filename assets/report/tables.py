"""Tables from specifications: a column says what it shows and how to write it, and one renderer makes the cells.

Templates make columns with `col` of `answers.py`. Without rows there is no table. Strings of the logs go through
`printable`, the default writer of a column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from assets.report.blocks import Cell, Table
from assets.report.numbers import UNKNOWN, confidence, moment, printable, short
from assets.report.palette import colour_of
from assets.report.queries import Row
from assets.report.wording import span

Write = Callable[[Any], Any]
Source = str | Callable[[Row], Any]
"""A column of the row, or a function that returns a value, a text or a whole cell."""

second = partial(moment, seconds=True)


@dataclass(frozen=True)
class Col:
    """One column of a table."""

    heading: str
    """A leading `#` sets the column flush right; `{level}` stands for the confidence level of the rows."""
    source: Source
    write: Write | None = None
    """The writer of the value; by default `printable` for a column, and `str` for the result of a function."""
    limits: str = ""
    """Stem of the columns `<stem>_low` and `<stem>_high`, which are shown below the value, written in the same way."""
    detail: Source = ""
    """Small print below the value."""
    link: Callable[[Row], str] | None = None
    """Address that a click opens; empty for none."""
    unknown: str = UNKNOWN
    """Text if there is no value."""
    filter: str = ""
    """Name by which an address selects rows: `#<cluster>/<page>/<filter>=<text>`."""
    picked: str = ""
    """The initially picked value, if the reader picks one value and sees only its rows."""
    has_swatch: bool = False
    """Shows the colour of the row's category before the value."""
    is_code: bool = False
    """The value is a command to copy."""

    def head(self, level: str = "") -> dict[str, Any]:
        """Return what the page's script reads of the column."""
        name, is_numeric = self.heading.removeprefix("#"), self.heading.startswith("#")
        marks = {"f": self.filter, "p": self.picked}
        return {
            "name": name.replace("{level}", level),
            "n": int(is_numeric),
            **{key: mark for key, mark in marks.items() if mark},
        }

    def text(self, row: Row) -> str:
        """Return the value of a row as text."""
        value = self.source(row) if callable(self.source) else row[self.source]
        return value.text if isinstance(value, Cell) else self._written(value)

    def _written(self, value: Any) -> Any:
        if value is None:
            return self.unknown
        return (self.write or (str if callable(self.source) else printable))(value)

    def cell(self, row: Row) -> Cell:
        """Make the cell of a row."""
        value = self.source(row) if callable(self.source) else row[self.source]
        if isinstance(value, Cell):
            return value
        if self.limits and value is not None:
            detail = limits_of(row, self.limits, self.write or printable)
        elif callable(self.detail):
            detail = self.detail(row) or ""
        else:
            detail = printable(row[self.detail] or "", 200) if self.detail else ""
        text = self._written(value)
        if isinstance(text, Cell):
            return text
        return Cell(
            text,
            detail,
            swatch=colour_of(row["failure_category"]) if self.has_swatch and row["failure_category"] != "all" else "",
            link=self.link(row) if self.link else "",
            is_code=self.is_code and bool(text),
        )


def steps(parts: tuple[str, ...]) -> Cell:
    """Make a cell of alternating prose and commands."""
    return Cell("".join(parts), parts=parts)


def limits_of(row: Row, stem: str, write: Write = short) -> str:
    """Write the two ends of an interval of a row."""
    return span(row[f"{stem}_low"], row[f"{stem}_high"], write)


def level_of(rows: Iterable[Row]) -> str:
    """Write the confidence level of rows that share one."""
    return confidence(next((row["confidence_level"] for row in rows if row.get("confidence_level")), None))


def table(
    caption: str,
    rows: Sequence[Row],
    columns: Iterable[Col],
    note: str = "",
    *,
    is_collapsed: bool = False,
    total: Row | None = None,
) -> Table | None:
    """Return a table of rows; None without rows.

    `note` says how to read the table. A click on the caption opens a collapsed table. `total` is a row that stays last
    in every order.
    """
    if not rows:
        return None
    columns, level = tuple(columns), level_of(rows)
    return Table(
        caption,
        tuple(column.head(level) for column in columns),
        tuple(tuple(column.cell(row) for column in columns) for row in (*rows, *([total] if total else []))),
        note.replace("{level}", level),
        is_collapsed=is_collapsed,
        has_total=total is not None,
    )
