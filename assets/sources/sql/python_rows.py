"""A few thousand Python rows as a temp table of DuckDB, by way of Arrow: `executemany` inserts row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa


def put(con: duckdb.DuckDBPyConnection, table: str, columns: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Make a temp table of Python rows.

    Parameters
    ----------
    con
        A writing connection.
    table
        Temp table to make.
    columns
        `name type, name type, ...`, in the order of the rows.
    rows
        Its content.
    """
    con.execute(f"create or replace temp table {table} ({columns})")
    if not rows:
        return
    names = [column.split()[0] for column in columns.split(", ")]
    content = pa.table([pa.array(list(values)) for values in zip(*rows, strict=True)], names=names)
    con.register("python_rows", content)
    try:
        con.execute(f"insert into {table} by name select * from python_rows")
    finally:
        con.unregister("python_rows")
