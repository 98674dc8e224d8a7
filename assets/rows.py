"""Rows of a query as dictionaries."""

from __future__ import annotations

from typing import Any

import duckdb


def rows_of(con: duckdb.DuckDBPyConnection, sql: str, values: Any = None) -> list[dict[str, Any]]:
    """Run a query with values for its parameters, and return its rows as dictionaries by column name.

    >>> rows_of(duckdb.connect(), "select 1 as a, 'b' as c")
    [{'a': 1, 'c': 'b'}]
    """
    result = con.execute(sql, values)
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, values, strict=True)) for values in result.fetchall()]
