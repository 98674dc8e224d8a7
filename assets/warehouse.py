"""The one door to DuckDB: opens the working file for one writer at a time, or read-only.

It holds no SQL about the data. The working file and the published file share the stem `faultline`, because dbt's
views carry the catalog name, which DuckDB takes from the file's stem.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
import duckdb
import pandas as pd

RAW_SCHEMA = Path(__file__).parent / "raw" / "schema.sql"


class Warehouse(dg.ConfigurableResource):
    """A DuckDB file.

    Attributes
    ----------
    path
        Absolute path of the file; its stem must be `faultline`.
    memory_limit
        DuckDB's limit, for instance `4GB`; empty keeps DuckDB's default of 80% of the machine.
    threads
        How many DuckDB may use; 0 keeps its default, one per core.
    """

    path: str
    memory_limit: str = ""
    threads: int = 0

    @contextmanager
    def writing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open for writing, with the raw and ops tables in place; fails when another process holds the file."""
        Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        con = duckdb.connect(self.path)
        try:
            self._configure(con)
            con.execute(RAW_SCHEMA.read_text(encoding="utf-8"))
            yield con
        finally:
            con.close()

    @contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open read-only."""
        con = duckdb.connect(self.path, read_only=True)
        try:
            self._configure(con)
            yield con
        finally:
            con.close()

    def _configure(self, con: duckdb.DuckDBPyConnection) -> None:
        con.execute("set timezone = 'UTC'")
        if self.memory_limit:
            con.execute(f"set memory_limit = '{self.memory_limit}'")
        if self.threads:
            con.execute(f"set threads = {self.threads}")


def replace_table(con: duckdb.DuckDBPyConnection, name: str, frame: pd.DataFrame, ddl: str) -> int:
    """Replace `schema.table` by a frame of the declared shape and return its row count.

    Parameters
    ----------
    con
        A writing connection.
    name
        `schema.table`.
    frame
        Columns named as in `ddl`, in any order; an absent or extra column is an error.
    ddl
        Column definitions as they stand between the parentheses of `create table`, comments allowed.
    """
    schema, _, _ = name.partition(".")
    con.begin()
    try:
        con.execute(f"create schema if not exists {schema}")
        con.execute(f"create or replace table {name} ({ddl})")
        con.register("incoming_frame", frame)
        con.execute(f"insert into {name} by name select * from incoming_frame")
        con.commit()
    except Exception:
        con.rollback()
        raise
    finally:
        con.unregister("incoming_frame")
    return len(frame)
