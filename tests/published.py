"""The rows of a publication, for comparisons: all rows, the facts alone, or the rows of one cluster."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import duckdb

Content = dict[str, list[tuple]]
"""Sorted rows by `schema.table`."""

OF_A_RUN = ("runs", "stages", "checks", "cluster_failures", "alerts", "published", "lineage")
"""Tables on runs in schema `ops`, which differ from run to run."""
PLACES = ("source_path", "source_line_number")
"""The place where a fact was read. It is no fact itself."""
COLUMNS = """
    select table_schema, table_name, list(column_name order by ordinal_position)
    from information_schema.columns
    group by all
    order by all
"""


def content_of(published: Path) -> Content:
    """Return every row of every published table, without the run that read a file."""
    found: Content = {}
    with duckdb.connect(str(published), read_only=True) as con:
        for schema, table, columns in con.execute(COLUMNS).fetchall():
            if schema != "ops":
                found[f"{schema}.{table}"] = _rows(con, schema, table, columns)
            elif table not in OF_A_RUN:
                found[f"{schema}.{table}"] = _rows(con, schema, table, [name for name in columns if name != "run_id"])
    return found


def facts_of(published: Path) -> Content:
    """Return every row of marts and estimates, without the place where it was read."""
    with duckdb.connect(str(published), read_only=True) as con:
        return {
            f"{schema}.{table}": _rows(con, schema, table, [name for name in columns if name not in PLACES])
            for schema, table, columns in con.execute(COLUMNS).fetchall()
            if schema in ("marts", "estimates")
        }


def facts_of_cluster(published: Path, cluster_id: str, left_out: Collection[str] = ()) -> Content:
    """Return one cluster's rows of marts and estimates, without comparisons with others and without some columns."""
    with duckdb.connect(str(published), read_only=True) as con:
        return {
            f"{schema}.{table}": _rows(
                con,
                schema,
                table,
                [name for name in columns if name not in left_out],
                "cluster_id = $cluster" + (" and comparison <> 'clusters'" if table == "est_rate_ratios" else ""),
                {"cluster": cluster_id},
            )
            for schema, table, columns in con.execute(COLUMNS).fetchall()
            if schema in ("marts", "estimates") and "cluster_id" in columns
        }


def compare(found: Content, expected: Content) -> None:
    """Fail with the first table and row that differ."""
    assert found.keys() == expected.keys()
    for name, rows in expected.items():
        assert len(found[name]) == len(rows), name
        for place, (row, other) in enumerate(zip(found[name], rows, strict=True)):
            assert row == other, f"{name}, row {place}"


def _rows(
    con: duckdb.DuckDBPyConnection,
    schema: str,
    table: str,
    columns: list[str],
    condition: str = "true",
    values: dict[str, str] | None = None,
) -> list[tuple]:
    shown = ", ".join(f'"{name}"' for name in columns)
    return con.execute(f"select {shown} from {schema}.{table} where {condition} order by all", values).fetchall()
