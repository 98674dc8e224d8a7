"""Read records of CSV files with mapped columns, by Python's csv module, which knows quotes and breaks inside cells.

Rows are written into temp tables one part of a file at a time.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import duckdb

from assets.sources.batch_tables import QUARANTINED_LINES, SKIPPED_LINES
from assets.sources.errors import SourceError
from assets.sources.mapped_columns.values import Dates, ValueProblem, is_day_first
from assets.sources.settings import ClusterSettings, ColumnMap
from assets.sources.temp_tables import TempTable
from assets.sources.text.text_lines import Row, rows_of

LINES_TOGETHER, ROWS_TOGETHER = 2_000, 10_000
"""How many lines and rows are in Python's memory at a time; each takes ten times its bytes there."""
Cells = Mapping[str, str | None]
"""The cells of a record by the meaning of their columns, stripped; None if blank."""
_MAX_SHOWN_CHARACTERS = 500
"""Characters of a header that a message shows."""


@dataclass(frozen=True)
class MappedTable:
    """How the records of a kind are read, and the tables they are read into."""

    kind: str
    columns: Mapping[str, str]
    """Columns of `read_KIND` with their SQL types, except `file_id` and `line_number`."""
    dates: tuple[str, ...]
    """Meanings of columns that hold dates."""
    rows_of: Callable[[Cells, Any, Dates], Sequence[dict[str, Any]]]
    """Returns the rows of a record, by the map of its cluster; raises `ValueProblem` to set it aside."""

    def map_of(self, cluster: ClusterSettings) -> ColumnMap:
        """Return the map of a cluster."""
        section: ColumnMap = getattr(cluster.settings, self.kind)
        return section

    def require_header(self, sample: str, path: str, cluster: ClusterSettings) -> str:
        """Return the dialect of a CSV whose header has the needed columns under the mapped names."""
        column_map = self.map_of(cluster)
        first = next((line for line in sample.splitlines() if line.strip()), "")
        header = next(csv.reader(io.StringIO(first), delimiter=delimiter_of(first, column_map)), [])
        found = column_places(header, column_map)
        if missing := [meaning for meaning in column_map.columns.needed if meaning not in found]:
            names = column_map.columns.names
            wanted = ", ".join(f'{meaning.partition("=")[0]} = "{names[meaning]}"' for meaning in missing)
            shown = ", ".join(repr(name) for name in header)
            raise SourceError(
                path,
                f"no_header: no column for {wanted}; the first line has {shown[:_MAX_SHOWN_CHARACTERS]}",
                f"Name the file's columns in [{self.kind}.columns] of cluster.toml.",
                line=1,
            )
        return "csv"

    @property
    def tables(self) -> tuple[TempTable, TempTable, TempTable]:
        """Return the tables of rows, of skipped lines and of quarantined lines."""
        return (
            TempTable(f"read_{self.kind}", {"file_id": "integer", "line_number": "bigint", **self.columns}),
            TempTable(f"{self.kind}_skipped", SKIPPED_LINES.columns),
            TempTable(f"{self.kind}_quarantined", QUARANTINED_LINES.columns),
        )


def delimiter_of(header: str, column_map: ColumnMap) -> str:
    """Return the configured delimiter, or the likeliest delimiter of a header line."""
    return column_map.delimiter or max(",;\t|", key=header.count)


def column_places(header: list[str], column_map: ColumnMap) -> dict[str, int]:
    """Return the places of the mapped columns in a header, by their meaning."""
    shown = [name.strip().lower() for name in header]
    names = {meaning: name.lower() for meaning, name in column_map.columns.names.items()}
    return {meaning: shown.index(name) for meaning, name in names.items() if name in shown}


def read_records(con: duckdb.DuckDBPyConnection, table: MappedTable, cluster: ClusterSettings) -> None:
    """Fill the tables of a kind from `lines`."""
    con.execute(
        """
        create or replace temp table mapped_lines as
        select file_id, line_number, line from lines order by file_id, line_number
        """
    )
    files = con.execute(
        """
        select file_id, any_value(batch_files.modified_at), min(mapped_lines.rowid), max(mapped_lines.rowid)
        from mapped_lines inner join batch_files using (file_id)
        group by file_id order by file_id
        """
    ).fetchall()
    now = datetime.now(UTC).replace(tzinfo=None)
    outcomes = _Outcomes(con, table)
    outcomes.begin()
    for file_id, modified_at, first, last in files:
        latest = max(modified_at, now) + timedelta(days=1)
        _read_file(outcomes, file_id, partial(_lines_of, con, first, last), cluster, latest)


def _lines_of(con: duckdb.DuckDBPyConnection, first: int, last: int) -> Iterator[tuple[int, str | None]]:
    """Yield the numbered lines of `mapped_lines` between two places; fetch some at a time."""
    for start in range(first, last + 1, LINES_TOGETHER):
        yield from con.execute(
            "select line_number, line from mapped_lines where rowid between ? and ? order by rowid",
            [start, min(last, start + LINES_TOGETHER - 1)],
        ).fetchall()


@dataclass
class _Outcomes:
    """Rows to write into the tables; only those of a part of a file are in memory at a time."""

    con: duckdb.DuckDBPyConnection
    table: MappedTable
    loaded: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[dict[str, Any]] = field(default_factory=list)
    quarantined: list[dict[str, Any]] = field(default_factory=list)

    def begin(self) -> None:
        """Create the tables."""
        for table in self.table.tables:
            table.create(self.con)

    def write(self, *, at_least: int = 1) -> None:
        """Move rows into their tables if there are at least this many."""
        for table, rows in zip(self.table.tables, (self.loaded, self.skipped, self.quarantined), strict=True):
            if len(rows) >= at_least:
                table.add(self.con, rows)
                rows.clear()


def _read_file(
    outcomes: _Outcomes,
    file_id: int,
    read_lines: Callable[[], Iterator[tuple[int, str | None]]],
    cluster: ClusterSettings,
    latest: datetime,
) -> None:
    """Read a file twice: only the whole file shows whether days or months come first in its dates."""
    table, column_map = outcomes.table, outcomes.table.map_of(cluster)
    first = next((line for _, line in read_lines() if line is not None), "")
    delimiter = delimiter_of(first, column_map)
    day_first = is_day_first(_dates(rows_of(read_lines(), delimiter), table, column_map))
    dates = Dates(column_map.timezone or cluster.settings.timezone, column_map.date_format, day_first, latest)
    header: list[str] = []
    places: dict[str, int] = {}
    for record in rows_of(read_lines(), delimiter):
        at = {"file_id": file_id, "line_number": record.numbers[0]}
        outcomes.skipped += [{**at, "line_number": n, "reason": "continuation"} for n in record.numbers[1:]]
        cells = record.cells
        if isinstance(cells, str):
            outcomes.quarantined.append({**at, "reason": "bad_csv", "detail": cells})
        elif not any(cell.strip() for cell in cells):
            outcomes.skipped.append({**at, "reason": "blank"})
        elif not header or cells == header:
            header, places = cells, column_places(cells, column_map)
            outcomes.skipped.append({**at, "reason": "header"})
        else:
            try:
                if len(cells) <= max(places.values()):
                    raise ValueProblem("field_count", f"{len(cells)} cells, {len(header)} columns")
                values = {meaning: cells[place].strip() or None for meaning, place in places.items()}
                outcomes.loaded += [{**at, **row} for row in table.rows_of(values, column_map, dates)]
            except ValueProblem as problem:
                outcomes.quarantined.append({**at, "reason": problem.reason, "detail": str(problem)})
        outcomes.write(at_least=ROWS_TOGETHER)
    outcomes.write()


def _dates(records: Iterator[Row], table: MappedTable, column_map: ColumnMap) -> Iterator[str]:
    """Yield the dates of all records below the header."""
    header: list[str] = []
    places: list[int] = []
    for record in records:
        cells = record.cells
        if isinstance(cells, str) or not any(cell.strip() for cell in cells) or cells == header:
            continue
        if not header:
            header, found = cells, column_places(cells, column_map)
            places = [found[meaning] for meaning in table.dates if meaning in found]
        else:
            yield from (cells[place] for place in places if place < len(cells))
