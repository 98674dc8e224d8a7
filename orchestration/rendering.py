"""Rows as text: a table for people, CSV that a spreadsheet may open, JSON that every parser reads."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, TextIO
from uuid import UUID

import duckdb
from rich.console import Console
from rich.table import Table
from rich.text import Text

BATCH = 10_000
MOST_TABLE_ROWS = 1_000
# A spreadsheet takes a cell that starts with one of these for a formula; job names are chosen by users.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def write_rows(cursor: duckdb.DuckDBPyConnection, fmt: str, out: TextIO) -> int:
    """Write the rows of a cursor and return how many there were."""
    writers: dict[str, Callable[[list[str], Iterator[tuple[Any, ...]], TextIO], int]] = {
        "csv": write_csv,
        "json": write_json,
        "table": write_table,
    }
    names = [column[0] for column in cursor.description or []]
    return writers[fmt](names, _rows(cursor), out)


def write_csv(names: list[str], rows: Iterator[tuple[Any, ...]], out: TextIO) -> int:
    """Write CSV: NULL is empty, times as DuckDB prints them, texts that look like a formula behind an apostrophe."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_cell(name) for name in names])
    count = 0
    for row in rows:
        writer.writerow([_cell(value) for value in row])
        count += 1
    return count


def write_json(names: list[str], rows: Iterator[tuple[Any, ...]], out: TextIO) -> int:
    """Write an array with an object per row: times ISO 8601 in UTC, NaN and infinity as null."""
    count = 0
    for count, row in enumerate(rows, start=1):
        item = {name: plain(value) for name, value in zip(names, row, strict=True)}
        out.write(("[\n" if count == 1 else ",\n") + json.dumps(item, ensure_ascii=False, allow_nan=False))
    out.write("\n]\n" if count else "[]\n")
    return count


def write_table(names: list[str], rows: Iterator[tuple[Any, ...]], out: TextIO) -> int:
    """Draw a table of the first rows, and say so when there are more."""
    shown: list[tuple[Any, ...]] = []
    count = 0
    for count, row in enumerate(rows, start=1):
        if count <= MOST_TABLE_ROWS:
            shown.append(row)
    is_number = [
        any(isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in column)
        for column in zip(*shown, strict=True)
    ]
    texts = [tuple(_shown(value) for value in row) for row in shown]
    print_table(names, texts, right=[at for at, right in enumerate(is_number) if right], out=out)
    if count > MOST_TABLE_ROWS:
        out.write(f"the first {MOST_TABLE_ROWS:,} of {count:,} rows; --format csv or json gives all\n")
    return count


def print_table(
    names: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = (), out: TextIO | None = None
) -> None:
    """Draw a table without frames; on a pipe nothing is cut to the width of a screen."""
    console = Console(file=out, highlight=False, markup=False)
    if not console.is_terminal:
        console.width = 100_000
    table = Table(box=None, pad_edge=False, header_style="bold")
    for at, name in enumerate(names):
        table.add_column(Text(name), justify="right" if at in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table, no_wrap=not console.is_terminal)


def plain(value: Any) -> Any:
    """Turn a value of DuckDB into one of JSON."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return float(value) if value.is_finite() else None
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(one) for one in value]
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        zoned = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return zoned.isoformat().replace("+00:00", "Z")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"PT{value.total_seconds():g}S"
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    return str(value) if isinstance(value, UUID) else repr(value)


def _cell(value: Any) -> Any:
    """Turn a value into a cell of CSV; numbers stay numbers, however they start."""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA_STARTS) else value
    if isinstance(value, datetime):
        return _text(value).replace("T", " ").removesuffix("Z")
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or isinstance(value, int | float | Decimal):
        return value
    if isinstance(value, dict | list | tuple | set):
        return json.dumps(plain(value), ensure_ascii=False)
    return _text(value)


def _shown(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"{value:.10g}"
    return value if isinstance(value, str) else str(_cell(value))


def _rows(cursor: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    while batch := cursor.fetchmany(BATCH):
        yield from batch
