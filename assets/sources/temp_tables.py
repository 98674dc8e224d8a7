"""Temp tables that are declared by name and columns, and filled with rows from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class TempTable:
    """A temp table: its name, and its columns with their SQL types."""

    name: str
    columns: Mapping[str, str]

    def create(self, con: duckdb.DuckDBPyConnection) -> None:
        """Create the table empty, and replace an existing one."""
        columns = ", ".join(f"{name} {sql_type}" for name, sql_type in self.columns.items())
        con.execute(f"create or replace temp table {self.name} ({columns})")

    def create_from(self, con: duckdb.DuckDBPyConnection, query: str) -> None:
        """Create the table from the rows of a query."""
        con.execute(f"create or replace temp table {self.name} as select {', '.join(self.columns)} from ({query})")

    def insert(self, con: duckdb.DuckDBPyConnection, rows: pa.Table) -> None:
        """Add rows that have all the columns.

        They are not registered: DuckDB keeps what is registered in a transaction in memory until its end.
        """
        con.from_arrow(rows.select(list(self.columns))).insert_into(self.name)

    def add(self, con: duckdb.DuckDBPyConnection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add rows from Python through Arrow, as `executemany` inserts row by row; a missing value is NULL."""
        if rows:
            # Importing Arrow takes longer than all else in a refresh without news.
            import pyarrow as pa

            values = [pa.array([row.get(name) for row in rows]) for name in self.columns]
            self.insert(con, pa.table(values, names=list(self.columns)))

    def fill(self, con: duckdb.DuckDBPyConnection, rows: Sequence[Sequence[Any]]) -> None:
        """Create the table from rows of Python with values in the order of the columns."""
        self.create(con)
        self.add(con, [dict(zip(self.columns, row, strict=True)) for row in rows])
