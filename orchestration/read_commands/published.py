"""The published file, opened for reading only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb

from assets.sql import literal
from orchestration.terminal.interruption import interruptible
from orchestration.upkeep.holder import holder_of

NAMED_ALONE = "marts,estimates,ops"
"""Schemas whose tables need no schema in their name, if the file has them all."""


class ReadingError(Exception):
    """A command cannot answer; the text says why and what to do next, on one line."""


class NothingPublished(ReadingError):
    """The home has no publication."""


@contextmanager
def published(path: Path, writes_to: Path | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the published file; its queries can change nothing, and read and write no file outside `writes_to`.

    Tables of marts, estimates and ops need no schema.
    """
    if not path.exists():
        raise NothingPublished(f"nothing is published yet: there is no {path}; run `faultline refresh` first")
    try:
        con = duckdb.connect(str(path), read_only=True)
    except duckdb.Error as error:
        if holder := re.search(r"PID (\d+)", str(error)):
            raise ReadingError(
                f"{path} is held by {holder_of(holder[1])}; end that process, or wait until it ends, and run this again"
            ) from None
        raise ReadingError(f"{path} cannot be opened: {one_line(error)}; run `faultline refresh --full`") from None
    try:
        con.execute("set timezone = 'UTC'")
        # Do not query the catalogue first: a query within 256 MB needs that memory.
        with suppress(duckdb.CatalogException):
            con.execute(f"set search_path = {literal(NAMED_ALONE)}")
        if writes_to is not None:
            con.execute("set allowed_directories = $folders", {"folders": [str(writes_to)]})
        con.execute("set enable_external_access = false")
        con.execute("set lock_configuration = true")
        with interruptible(con):
            yield con
    except (duckdb.CatalogException, duckdb.BinderException) as error:
        raise ReadingError(f"{path} is of another version: {one_line(error)}; run `faultline refresh`") from None
    finally:
        con.close()


def one_line(error: BaseException) -> str:
    """Return the message and DuckDB's suggestion, without the quoted line of SQL."""
    return " ".join(str(error).split("\n\nLINE")[0].split())
