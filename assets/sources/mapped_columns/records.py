"""The records of ticket files, by Python's csv module, which knows quotes and line breaks inside cells.

Rows go into temp tables a part of a file at a time.
"""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any

import duckdb

from assets.sources.batch_tables import QUARANTINED_LINES, SKIPPED_LINES
from assets.sources.mapped_columns import values as ticket_values
from assets.sources.mapped_columns.values import ValueProblem
from assets.sources.settings import ClusterSettings, Tickets
from assets.sources.temp_tables import TempTable
from assets.sources.text import times

MAX_RECORD_LINES, MAX_RECORD_CHARACTERS = 500, 2**20
"""Lines and characters over which a record may run."""
LINES_TOGETHER, ROWS_TOGETHER = 2_000, 10_000
"""How many lines and rows are in Python's memory at a time, where each takes ten times its bytes."""
UNCLOSED = "unexpected end of data"
"""What the csv module says of a quote that is still open."""

Line = tuple[int, str | None]
"""A line's number and text."""

_TICKETS = TempTable(
    "read_tickets",
    {
        "file_id": "integer",
        "line_number": "bigint",
        "ticket_id": "varchar",
        "node_name": "varchar",
        "opened_at": "timestamp",
        "closed_at": "timestamp",
        "component_raw": "varchar",
        "action": "varchar",
        "status": "varchar",
        "summary": "varchar",
    },
)
_SKIPPED = TempTable("tickets_skipped", SKIPPED_LINES.columns)
_QUARANTINED = TempTable("tickets_quarantined", QUARANTINED_LINES.columns)


def delimiter_of(header: str, settings: Tickets) -> str:
    """Return the configured delimiter, or the likeliest one of a header line."""
    return settings.delimiter or max(",;\t|", key=header.count)


def column_places(header: list[str], settings: Tickets) -> dict[str, int]:
    """Return the places of the configured columns that a header has, by their meaning."""
    shown = [name.strip().lower() for name in header]
    wanted = settings.columns.model_dump()
    return {meaning: shown.index(name.lower()) for meaning, name in wanted.items() if name.lower() in shown}


def read_tickets(con: duckdb.DuckDBPyConnection, cluster: ClusterSettings) -> None:
    """Fill `read_tickets`, `tickets_skipped` and `tickets_quarantined` from `lines`."""
    con.execute(
        """
        create or replace temp table ticket_lines as
        select file_id, line_number, line from lines order by file_id, line_number
        """
    )
    files = con.execute(
        """
        select file_id, any_value(batch_files.modified_at), min(ticket_lines.rowid), max(ticket_lines.rowid)
        from ticket_lines inner join batch_files using (file_id)
        group by file_id order by file_id
        """
    ).fetchall()
    now = datetime.now(UTC).replace(tzinfo=None)
    outcomes = _Outcomes(con)
    outcomes.begin()
    for file_id, modified_at, first, last in files:
        latest = max(modified_at, now) + timedelta(days=1)
        _read_file(outcomes, file_id, partial(_lines_of, con, first, last), cluster, latest)


def _lines_of(con: duckdb.DuckDBPyConnection, first: int, last: int) -> Iterator[Line]:
    """Yield numbered lines from one place of `ticket_lines` to another, some at a time."""
    for start in range(first, last + 1, LINES_TOGETHER):
        yield from con.execute(
            "select line_number, line from ticket_lines where rowid between ? and ? order by rowid",
            [start, min(last, start + LINES_TOGETHER - 1)],
        ).fetchall()


@dataclass
class _Outcomes:
    """Rows on their way into the tables; only those of a part of a file are in memory at a time."""

    con: duckdb.DuckDBPyConnection
    loaded: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[dict[str, Any]] = field(default_factory=list)
    quarantined: list[dict[str, Any]] = field(default_factory=list)

    def begin(self) -> None:
        """Make the tables."""
        for table in (_TICKETS, _SKIPPED, _QUARANTINED):
            table.create(self.con)

    def write(self, *, at_least: int = 1) -> None:
        """Move rows into their tables, where there are so many."""
        for table, rows in ((_TICKETS, self.loaded), (_SKIPPED, self.skipped), (_QUARANTINED, self.quarantined)):
            if len(rows) >= at_least:
                table.add(self.con, rows)
                rows.clear()


@dataclass(frozen=True)
class _Record:
    """A record by the numbers of its lines, and its cells, or what is wrong with it."""

    numbers: list[int]
    cells: list[str] | str


def _read_file(
    outcomes: _Outcomes,
    file_id: int,
    read_lines: Callable[[], Iterator[Line]],
    cluster: ClusterSettings,
    latest: datetime,
) -> None:
    """Read a file twice: only the whole file tells whether days or months come first in its dates."""
    settings = cluster.settings.tickets
    zone = settings.timezone or cluster.settings.timezone
    first = next((line for _, line in read_lines() if line is not None), "")
    delimiter = delimiter_of(first, settings)
    day_first = ticket_values.is_day_first(_dates(_records(read_lines(), delimiter), settings))
    header: list[str] = []
    places: dict[str, int] = {}
    for record in _records(read_lines(), delimiter):
        at = {"file_id": file_id, "line_number": record.numbers[0]}
        outcomes.skipped += [{**at, "line_number": n, "reason": "continuation"} for n in record.numbers[1:]]
        cells = record.cells
        if isinstance(cells, str):
            outcomes.quarantined.append({**at, "reason": "bad_csv", "detail": cells})
        elif not any(cell.strip() for cell in cells):
            outcomes.skipped.append({**at, "reason": "blank"})
        elif not header or cells == header:
            header, places = cells, column_places(cells, settings)
            outcomes.skipped.append({**at, "reason": "header"})
        else:
            try:
                if len(cells) <= max(places.values()):
                    raise ValueProblem("field_count", f"{len(cells)} cells, {len(header)} columns")
                values = {meaning: cells[place].strip() or None for meaning, place in places.items()}
                outcomes.loaded += [{**at, **row} for row in _ticket(values, settings, zone, day_first, latest)]
            except ValueProblem as problem:
                outcomes.quarantined.append({**at, "reason": problem.reason, "detail": str(problem)})
        outcomes.write(at_least=ROWS_TOGETHER)
    outcomes.write()


def _dates(records: Iterator[_Record], settings: Tickets) -> Iterator[str]:
    """Yield the dates of all records below the header."""
    header: list[str] = []
    places: list[int] = []
    for record in records:
        cells = record.cells
        if isinstance(cells, str) or not any(cell.strip() for cell in cells) or cells == header:
            continue
        if not header:
            header, found = cells, column_places(cells, settings)
            places = [found[name] for name in ("opened", "closed") if name in found]
        else:
            yield from (cells[place] for place in places if place < len(cells))


def _records(lines: Iterator[Line], delimiter: str) -> Iterator[_Record]:
    """Yield the records of a file.

    A quote that is never closed must not swallow the rest of the file: then its first line alone is the record.
    """
    waiting: deque[Line] = deque(islice(lines, 1))
    while waiting:
        text, count = f"{waiting[0][1] or ''}\n", 1
        cells = _cells(text, delimiter)
        while cells == UNCLOSED and count < MAX_RECORD_LINES and len(text) < MAX_RECORD_CHARACTERS:
            if count == len(waiting):
                waiting.extend(islice(lines, 1))
            if count == len(waiting):
                break
            line = waiting[count][1] or ""
            text, count = f"{text}{line}\n", count + 1
            # Only a quote closes what a quote has opened: a look at any other line would be in vain.
            cells = _cells(text, delimiter) if '"' in line else cells
        count = 1 if isinstance(cells, str) else count
        yield _Record([waiting.popleft()[0] for _ in range(count)], cells)
        if not waiting:
            waiting.extend(islice(lines, 1))


def _cells(text: str, delimiter: str) -> list[str] | str:
    """Split a record, or say what is wrong with it."""
    try:
        return next(csv.reader(io.StringIO(text, newline="\n"), delimiter=delimiter, strict=True), [])
    except csv.Error as error:
        return str(error)


def _ticket(
    values: dict[str, str | None], settings: Tickets, zone: str, day_first: bool | None, latest: datetime
) -> list[dict[str, Any]]:
    """Return one row per node of a ticket; `latest` is the last moment that its file can know of."""
    opened = ticket_values.stated(values["opened"])
    if values["ticket_id"] is None:
        raise ValueProblem("missing_ticket_id", "no ticket id")
    if values["node"] is None or opened is None:
        raise ValueProblem("missing_time_or_node", "no node" if values["node"] is None else "no date of opening")
    opened_at = ticket_values.moment(opened, zone, settings.date_format, day_first)
    closed = ticket_values.stated(values.get("closed"))
    closed = None if closed and ticket_values.is_never(closed) else closed
    closed_at = ticket_values.moment(closed, zone, settings.date_format, day_first, opened_at) if closed else None
    for text, moment in ((opened, opened_at), (closed, closed_at)):
        if moment is not None and not times.EARLIEST <= moment <= latest:
            raise ValueProblem("implausible_time", f"{text} is {moment} (UTC)")
    if closed_at is not None and closed_at < opened_at:
        raise ValueProblem("close_before_open", f"opened {opened}, closed {closed}")
    shared = {
        "ticket_id": values["ticket_id"],
        "opened_at": opened_at,
        "closed_at": closed_at,
        "component_raw": values.get("component"),
        **{name: values.get(name) for name in ("action", "status", "summary")},
    }
    names = ticket_values.node_names(values["node"])
    if not names:
        raise ValueProblem("missing_time_or_node", f"no node in {values['node']!r}")
    return [{**shared, "node_name": name} for name in names]
