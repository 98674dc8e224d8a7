"""Which errors rows can cause, and which are the machine's or the statement's own."""

from __future__ import annotations

import re

import duckdb

from assets.warehouse import is_interruption

_OF_THE_MACHINE = (
    OSError,
    duckdb.FatalException,
    duckdb.InternalException,
    duckdb.ConnectionException,
)
_NO_ROOM = re.compile(
    r"no space|quota|could not write|read-only|too many open|input/output error|offload|temp_directory", re.I
)
_OF_NO_ROWS = re.compile(
    r"\b(parser|binder|catalog|out of memory|io|fatal|internal|interrupt) error:|compilation error|no space left", re.I
)
"""Words in errors of DuckDB and dbt that no row causes."""


def is_machine_error(error: Exception) -> bool:
    """Tell whether an error is not the fault of a file: a full disk, a lost database, an interruption."""
    if isinstance(error, _OF_THE_MACHINE) or is_interruption(error):
        return True
    return isinstance(error, duckdb.Error) and _NO_ROOM.search(str(error)) is not None


def may_be_of_rows(error: Exception) -> bool:
    """Tell whether rows can cause an error; none causes lack of memory or a missing column."""
    return not (is_machine_error(error) or isinstance(error, MemoryError) or _OF_NO_ROWS.search(str(error)))


def described(error: Exception) -> str:
    """Return an error in a line, with its kind."""
    first = next(iter(str(error).strip().splitlines()), "")
    return f"{type(error).__name__}: {first}"[:300]
