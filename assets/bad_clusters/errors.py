"""Distinguish errors that rows can cause from errors of the machine and of the statement."""

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
    r"no space|quota|could not write|read-only|too many open|input/output error|offload|temp_directory"
)
_KINDS_OF_THE_MACHINE = ("errno", "io", "out of memory", "transactioncontext", "fatal")
_KINDS_OF_NO_ROWS = (*_KINDS_OF_THE_MACHINE, "internal", "interrupt", "parser", "binder", "catalog", "compilation")
_KIND = re.compile(
    r"\b(binder|catalog|compilation|constraint|conversion|csv|fatal|internal|interrupt|invalid input|invalid type|io"
    r"|mismatch type|not implemented|out of memory|out of range|parser|serialization|transactioncontext) error\b"
    r"|\[(errno) \d+\]",
    re.I,
)


def kind_of(text: str) -> str:
    """Return the kind of error that a message of DuckDB, dbt or the system names first; empty if it names none.

    The rest of the message may quote rows, which may name other kinds.

    >>> kind_of("Conversion Error: Could not convert string 'IO Error: No space left on device'")
    'conversion'
    """
    found = _KIND.search(text)
    return (found[1] or found[2]).lower() if found else ""


def said_by_the_machine(text: str) -> str:
    """Return a message in lower case if it is about the disk or the memory, and an empty text otherwise."""
    return text.lower() if kind_of(text) in _KINDS_OF_THE_MACHINE else ""


def is_machine_error(error: Exception) -> bool:
    """Return whether an error is not the fault of a file: a full disk, a lost database, an interruption."""
    if isinstance(error, _OF_THE_MACHINE) or is_interruption(error):
        return True
    return isinstance(error, duckdb.Error) and _NO_ROOM.search(said_by_the_machine(str(error))) is not None


def is_of_the_files(error: Exception) -> bool:
    """Return whether an error is an interruption, or of the disk or the database file, so that the run must stop."""
    of_the_files = (*_OF_THE_MACHINE, duckdb.IOException, duckdb.SerializationException)
    return isinstance(error, of_the_files) or is_interruption(error)


def may_be_of_rows(error: Exception) -> bool:
    """Return whether rows can cause an error; they cannot cause lack of memory or a missing column."""
    return not (is_machine_error(error) or isinstance(error, MemoryError) or kind_of(str(error)) in _KINDS_OF_NO_ROWS)


def described(error: Exception) -> str:
    """Return an error with its kind, in one line."""
    first = next(iter(str(error).strip().splitlines()), "")
    return f"{type(error).__name__}: {first}"[:300]
