"""The pages of the report: named lists of rows, and a template that shows them in the order of reading.

A page is `assets/answers/<name>/page.html.j2`, with its own queries as `.sql` in the same folder. The template holds
the words and their order; the unit at the end of a column's name decides how its values are written. To add a
section, write a `{% call section(key, title) %}` block. To add a table, write
`{{ table(caption, rows("projections"), [col("Size", "gpu_count|gpus"), col("MTTF", "mttf_hours", limits=true)]) }}`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from operator import itemgetter
from typing import Any

from jinja2 import TemplateRuntimeError

from assets.model.change_effects import CHANGE_DAYS
from assets.model.scale.verdicts import VERDICT_IN_WORDS
from assets.report import numbers, wording
from assets.report.addresses import of_cause, of_failure, of_node
from assets.report.blocks import Part, Section, Tile
from assets.report.figures import FIGURES
from assets.report.filling import environment, plain_environment
from assets.report.names import NOTE
from assets.report.numbers import UNKNOWN, printable
from assets.report.queries import ClusterData, Row
from assets.report.rows import DERIVED
from assets.report.tables import Col, steps, table
from assets.report.wording import MAX_REASON_CHARACTERS

_log = logging.getLogger(__name__)
UNEXPECTED_ROWS = (ArithmeticError, AttributeError, LookupError, TypeError, TemplateRuntimeError, ValueError)
"""Errors of a section on unexpected rows; only that section is lost."""
WRITERS: tuple[tuple[Callable[[Any], str], tuple[str, ...]], ...] = (
    (wording.number, ("_count",)),
    (numbers.share, ("_ratio", "_share", "_probability")),
    (numbers.month, ("month_date",)),
    (numbers.day, ("_date",)),
    (numbers.moment, ("_at",)),
    (numbers.short, ("_hours", "_minutes", "_days", "_cost", "_per_month", "rate", "ratio", "exposure")),
)
"""How a value is written by the end of its column's name."""
FLUSH_LEFT = {None, numbers.month, numbers.day, numbers.moment, wording.yes_no, numbers.words, numbers.printable, steps}
"""Writers of values that are no numbers."""
LINKS: dict[str, Callable[[Row], str]] = {
    "node": of_node,
    "cause": of_cause,
    "failure": of_failure,
    "earlier": itemgetter("address"),
}
"""Address of the link of a cell; `#/failures` is that page of the row's cluster, by its `anchor`."""


@cache
def expression(text: str) -> Callable[[Row], Any]:
    """Compile a Jinja expression over the columns of a row, and the row itself as `row`."""
    compiled = plain_environment().compile_expression(text, undefined_to_none=False)
    return lambda row: compiled(row, row=row)


def writer_of(column: str, write: str = "") -> Callable[[Any], Any] | None:
    """Return the writer of a column, by a filter's name or by the end of its own; None for a text of the logs."""
    if write:
        return plain_environment().filters[write]
    return next((writer for writer, ends in WRITERS if column.endswith(ends)), None)


def col(
    heading: str,
    source: str,
    *,
    write: str = "",
    limits: bool | str = False,
    detail: str = "",
    link: str = "",
    unknown: str = UNKNOWN,
    filter: str = "",
    picked: str = "",
    swatch: bool = False,
    code: bool = False,
) -> Col:
    """Describe a column of a table.

    The source is a column of the rows, or a Jinja expression over one row; so is the detail, the small print. Limits
    are those of the source, or of the named stem. A column of numbers is flush right; so is an expression whose
    heading begins with `#`.
    """
    is_column = source.isidentifier()
    writer = writer_of(source, write) if is_column else None
    return Col(
        heading if writer in FLUSH_LEFT else f"#{heading}",
        source if is_column else expression(source),
        writer,
        limits=source if limits is True else limits or "",
        detail=detail if not detail or detail.isidentifier() else expression(detail),
        link=LINKS.get(link) or (lambda row: f"#{row['anchor']}{link[1:]}") if link else None,
        unknown=unknown,
        filter=filter,
        picked=picked,
        has_swatch=swatch,
        is_code=code,
    )  # fmt: skip


CONSTANTS = {"CHANGE_DAYS": CHANGE_DAYS, "names_note": NOTE, "scale_verdicts": VERDICT_IN_WORDS}
"""Constants of the code that templates of pages show."""


class NoRow(dict[str, Any]):
    """A missing row: false, and each of its columns is unknown."""

    def __missing__(self, column: str) -> None:
        """Return None, which is unknown."""


class Answer:
    """The functions that the template of one page calls; collects its sections, figures and tables."""

    def __init__(self, data: ClusterData, prefix: str = "") -> None:
        """Start a page of one cluster, or of all clusters if the row of the cluster is empty."""
        self.data, self.prefix = data, prefix
        self.sections: list[Section] = []
        self.not_made: list[str] = []
        self.needy: list[str] = []
        self._parts: list[Part] = []
        self._macros: Any = environment().get_template("blocks.html.j2").module

    def write(self, name: str, **more: Any) -> tuple[Section, ...]:
        """Fill the template of a page, and return its sections."""
        called = (self.rows, self.row, self.note, self.section, self.fold, self.table, self.figure, self.tile)
        words = {method.__name__: method for method in called}
        template = environment().get_template(f"{name}/page.html.j2")
        template.render(CONSTANTS | words | {"cluster": self.data.cluster, "col": col} | more)
        if self.needy:
            needy = "; ".join(filter(None, self.needy))
            said = self._macros.paragraph(
                f"No accounting. An export of sacct (docs/logs.md) would show: {needy}.", "note"
            )
            self.sections.append(Section("without-jobs", "What requires accounting", said))
        return tuple(self.sections)

    def rows(self, name: str, **wanted: Any) -> list[Row]:
        """Select the cluster's rows of a query or of a function in `DERIVED`."""
        read = DERIVED[name](self.data) if name in DERIVED else self.data.rows(name)
        return [row for row in read if all(row[column] == value for column, value in wanted.items())]

    def row(self, name: str, **wanted: Any) -> Row:
        """Select the first such row, or a missing one."""
        return next(iter(self.rows(name, **wanted)), NoRow())

    def section(
        self, key: str, title: str = "", *, folded: bool = False, of_jobs: bool = True, caller: Callable[[], str]
    ) -> str:
        """Keep a section; if it fails on its rows, say so in its place and go on.

        A folded section opens on a click on its title, or if an address leads to it.

        The page shows only the kind of error, because its words may hold a hidden name. For a cluster without
        accounting, sections of jobs are left out, and named.
        """
        if of_jobs and self.data.cluster.get("has_records_alone"):
            self.needy.append(title.rstrip("?"))
            return ""
        self.data, self._parts = replace(self.data, queries_read=set()), []
        try:
            html = caller()
            for row in reversed(self.data.not_computed(*self.data.queries_read)):
                html = self._macros.paragraph(not_computed(row), "warning") + html
        except UNEXPECTED_ROWS as error:
            _log.exception("section %s of the report could not be made", key)
            self.not_made.append(title or key)
            why = f"This section could not be made of the rows of this cluster ({type(error).__name__})"
            title, folded = f"{title or key}: not made", False
            html = self._macros.paragraph(f"{why}: please report it.", "warning")
        if html.strip():
            self.sections.append(Section(key, title, html, tuple(self._parts), is_folded=folded))
        return ""

    def note(self, caller: Callable[[], str]) -> str:
        """Write why something is unknown; nothing if an estimate failed, which is the reason then."""
        return "" if self.data.not_computed(*self.data.queries_read) else self._macros.paragraph(caller(), "note")

    def fold(self, title: str, caller: Callable[[], str]) -> str:
        """Fold content under a heading that opens on a click; return nothing for empty content."""
        inside = caller()
        return self._macros.folded(title, inside) if inside.strip() else ""

    def table(self, caption: str, rows: Sequence[Row], columns: Iterable[Col], note: str = "", *, folded: bool = False,
              total: Row | None = None) -> str:  # fmt: skip
        """Return a table of rows; nothing without rows."""
        return self._laid_out("table_of", table(caption, rows, columns, note, is_collapsed=folded, total=total))

    def figure(self, name: str, *about: Any) -> str:
        """Draw one of the figures of `assets/report/figures`; nothing if there is nothing to draw."""
        return self._laid_out("figure_of", FIGURES[name](self.data, *about))

    def tile(self, label: str, value: str, unit: str = "", *details: str) -> str:
        """Show a number in large print."""
        return self._laid_out("tile_of", Tile(label, value, unit, tuple(filter(None, details))))

    def _laid_out(self, macro: str, part: Part | None) -> str:
        if part is None:
            return ""
        self._parts.append(part)
        return getattr(self._macros, macro)(part, self.prefix)


def not_computed(row: Row) -> str:
    """Say that an estimate could not be computed."""
    return f"{row['table_name']} could not be computed: {printable(row['reason'], MAX_REASON_CHARACTERS)}"
