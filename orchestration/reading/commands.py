"""What the reading commands answer: rows, tables, files, state, advice. Read only, on the published file.

It never writes, and opens the working file only while it is certain that no refresh does.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

import duckdb

from orchestration.reading.published import ReadingError, one_line, published
from orchestration.terminal import print_table, say, say_json, until_nobody_reads

if TYPE_CHECKING:
    from orchestration.home import Home

Format = Literal["table", "csv", "json"]
_READING = {"SELECT", "EXPLAIN"}


def run_query(path: Path, sql: str, fmt: Format = "table", out: TextIO | None = None) -> int:
    """Answer one SELECT and return its number of rows.

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
    from orchestration.reading.rendering import write_rows

    with published(path) as con, until_nobody_reads():
        try:
            return write_rows(ask(con, sql), fmt, out or sys.stdout)
        except duckdb.Error as error:
            raise ReadingError(f"{one_line(error)}; `faultline tables` lists what there is") from None


def show_tables(path: Path, as_json: bool = False) -> None:
    """Print every published table with its rows and what one row is."""
    from orchestration.reading.catalogue import list_tables

    with published(path) as con:
        tables = list_tables(con)
    if as_json:
        say_json([asdict(table) for table in tables], indent=2)
        return
    rows = [
        (table.name, "view" if table.row_count is None else f"{table.row_count:,}", table.grain) for table in tables
    ]
    print_table(("table", "rows", "one row per"), rows, right=(1,))


def show_where(name: str, as_json: bool = False) -> None:
    """Print the file that defines a table, with the line where the file defines several."""
    from orchestration.reading.catalogue import where

    found = where(name)
    if as_json:
        say_json({"table": found.table, "file": str(found.file), "line": found.line})
    else:
        say(str(found))


def show_status(home: Home, as_json: bool = False) -> bool:
    """Print the last publication, the last run and how fresh the data is; tell whether the last run succeeded."""
    from orchestration.reading.status import status
    from orchestration.reading.status_lines import print_status

    found = status(home)
    if as_json:
        say_json(found, indent=2)
    else:
        print_status(found)
    return (found["last_run"] or {}).get("status") != "failed" and not (found["published"] or {}).get("problem")


def show_doctor(home: Home, as_json: bool = False) -> bool:
    """Print what is missing or wrong, and the command that fixes it; tell whether nothing is an error."""
    from orchestration.doctor.doctor import doctor, print_findings

    findings = doctor(home)
    if as_json:
        say_json([asdict(finding) for finding in findings], indent=2)
    else:
        print_findings(findings)
    return all(finding.level != "error" for finding in findings)


def ask(con: duckdb.DuckDBPyConnection, sql: str) -> duckdb.DuckDBPyConnection:
    """Execute one statement that reads, on a connection that `published` opened."""
    statements = con.extract_statements(sql)
    if len(statements) != 1 or statements[0].type.name not in _READING:
        found = ", ".join(statement.type.name for statement in statements) or "nothing"
        raise ReadingError(f"one SELECT is wanted and {found} was given; the published file is for reading only")
    return con.execute(sql)
