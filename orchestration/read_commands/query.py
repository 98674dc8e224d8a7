"""`faultline query`: the rows of one SELECT on the published file, as a table, CSV or JSON.

All three are safe on a terminal: they escape the same characters as `terminal.visible`. CSV is safe in a spreadsheet.
"""

from __future__ import annotations

import csv
import itertools
import re
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, TextIO

import duckdb

from orchestration.read_commands.published import ReadingError, one_line, published
from orchestration.terminal.output import ending_with_the_reader, json_text, print_table, say, visible
from orchestration.terminal.values import text_of

Format = Literal["table", "csv", "json"]
READING_STATEMENTS = {"SELECT", "EXPLAIN"}

BATCH = 10_000
MAX_TABLE_ROWS = 1_000
# A spreadsheet treats a cell that starts with one of these as a formula; users choose job names.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
CSV_KEEPS = "\n\t"
"""Kept inside quotes: a program that reads the CSV gets them back."""


def run_query(path: Path, sql: str, fmt: Format = "table", out: TextIO | None = None) -> int:
    """Run one SELECT, write its rows, and return their number.

    Parameters
    ----------
    path
        The published file.
    sql
        One statement that reads.
    fmt
        `table` for people, `csv` or `json` for programs.
    out
        Where to write, by default stdout.
    """
    with published(path) as con, ending_with_the_reader():
        try:
            cursor = ask(con, sql)
            if says_user(con.cursor(), sql):
                say("faultline: `user` is DuckDB's own user here; the column is user_name", is_error=True)
            return write_rows(cursor, fmt, out or sys.stdout)
        except duckdb.Error as error:
            raise ReadingError(f"{one_line(error)}; `faultline tables` lists what there is") from None


def says_user(con: duckdb.DuckDBPyConnection, sql: str) -> bool:
    """Return whether a statement selects DuckDB's own user from tables with a column `user_name`."""
    if not re.search(r"\buser\b|current_user", sql, re.IGNORECASE):
        return False
    import sqlglot
    from sqlglot import exp

    try:
        tree = sqlglot.parse_one(sql, read="duckdb")
    except sqlglot.errors.SqlglotError:
        return False
    if any(alias.alias.lower() == "user" for alias in tree.find_all(exp.Alias)):
        return False
    columns = [column for column in tree.find_all(exp.Column) if column.name.lower() == "user" and not column.table]
    if not columns and tree.find(exp.CurrentUser) is None:
        return False
    tables = [table.name.lower() for table in tree.find_all(exp.Table)]
    found = "select 1 from duckdb_columns() where column_name = 'user_name' and list_contains($tables, table_name)"
    return bool(con.execute(found, {"tables": tables}).fetchall())


def ask(con: duckdb.DuckDBPyConnection, sql: str) -> duckdb.DuckDBPyConnection:
    """Execute one reading statement on a connection from `published`."""
    try:
        sql.encode("utf-8")
    except UnicodeEncodeError:
        raise ReadingError("the statement is not UTF-8; check the terminal's encoding, or set LC_ALL=C.UTF-8") from None
    statements = con.extract_statements(sql)
    if len(statements) != 1 or statements[0].type.name not in READING_STATEMENTS:
        found = ", ".join(statement.type.name for statement in statements) or "nothing"
        raise ReadingError(f"one SELECT is wanted and {found} was given; the published file is for reading only")
    return con.execute(sql)


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
    """Write an array with an object per row: times ISO 8601 in UTC, NaN and infinity as null.

    A repeated name gets a number, as in a table of DuckDB: `a`, `a_1`. An object has one value per name.
    """
    names = _distinct(names)
    count = 0
    for count, row in enumerate(rows, start=1):
        item = json_text(dict(zip(names, row, strict=True)))
        out.write(("[\n" if count == 1 else ",\n") + item)
    out.write("\n]\n" if count else "[]\n")
    return count


def write_table(names: list[str], rows: Iterator[tuple[Any, ...]], out: TextIO) -> int:
    """Print a table of the first rows, and say so if there are more."""
    shown: list[tuple[Any, ...]] = []
    count = 0
    for count, row in enumerate(rows, start=1):
        if count <= MAX_TABLE_ROWS:
            shown.append(row)
    is_number = [
        any(isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in column)
        for column in zip(*shown, strict=True)
    ]
    texts = [tuple(_shown(value) for value in row) for row in shown]
    print_table(names, texts, right=[at for at, right in enumerate(is_number) if right], out=out)
    if count > MAX_TABLE_ROWS:
        out.write(f"the first {MAX_TABLE_ROWS:,} of {count:,} rows; --format csv or json gives all\n")
    return count


def _distinct(names: list[str]) -> list[str]:
    """Return the names, with a number for each repeated one.

    >>> _distinct(["a", "b", "a", "a_1"])
    ['a', 'b', 'a_2', 'a_1']
    """
    found: list[str] = []
    for name in names:
        numbered = (f"{name}_{number}" for number in itertools.count(1))
        free = (other for other in numbered if other not in names and other not in found)
        found.append(next(free) if name in found else name)
    return found


def _cell(value: Any) -> Any:
    """Turn a value into a cell of CSV; numbers stay numbers, however they start."""
    if isinstance(value, str):
        text = visible(value, keep=CSV_KEEPS)
        return f"'{text}" if value.startswith(FORMULA_STARTS) else text
    if isinstance(value, datetime):
        return text_of(value).replace("T", " ").removesuffix("Z")
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or isinstance(value, int | float | Decimal):
        return value
    if isinstance(value, dict | list | tuple | set):
        return json_text(value)
    return visible(text_of(value))


def _shown(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"{value:.10g}"
    return value if isinstance(value, str) else str(_cell(value))


def _rows(cursor: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    while batch := cursor.fetchmany(BATCH):
        yield from batch
