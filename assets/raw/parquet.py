"""Schema raw as Parquet, for engines that read folders: a folder per table, by cluster and date of what happened.

It writes what dbt reads as a source and what its models in Python fitted. Each table is written to a temporary folder
and renamed, so no half table is ever visible. A second export replaces the first.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import duckdb

from assets.sources.formats import ROWS
from assets.sql import literal
from assets.warehouse import one_value

DATED = {f"raw.{table}": rows.time for table, rows in ROWS.items() if rows.time and not rows.are_of_moments}
"""Tables that grow day by day, and the column of the time that dates a row, which is never NULL."""
UNDATED = ("raw.node_names", "raw.node_lists", "raw.nodes", "raw.squeue_exclusions", "ops.files", "ops.spans")
"""Tables partitioned by cluster alone."""
WHOLE = ("raw.clusters", "ops.pulls")
"""A row per cluster: one file."""
FITTED = ("intermediate.int_posteriors_fitted",)
"""Tables that dbt's models in Python made, once they ran: other engines read them like the raw tables."""
FITTED_FOR_ALL = ("intermediate.int_end_ratios_bounded",)
"""The same, for all clusters together: one file."""
EXISTS = "select 1 from duckdb_tables() where schema_name || '.' || table_name = ?"


@dataclass(frozen=True)
class Exported:
    """One table on disk."""

    table: str
    row_count: int
    file_count: int
    size_bytes: int


def export_tables(con: duckdb.DuckDBPyConnection, folder: Path) -> list[Exported]:
    """Write every source of the dbt project, and what its models in Python fitted, to `folder/<schema>/<table>`.

    Parameters
    ----------
    con
        A connection that reads the working file.
    folder
        Created if missing; other content of it stays.
    """
    fitted = [table for table in (*FITTED, *FITTED_FOR_ALL) if con.execute(EXISTS, [table]).fetchall()]
    return [_export(con, table, folder / Path(*table.split("."))) for table in (*DATED, *UNDATED, *WHOLE, *fitted)]


def _export(con: duckdb.DuckDBPyConnection, table: str, place: Path) -> Exported:
    unfinished = place.with_name(f".{place.name}.{os.getpid()}.tmp")
    replaced = place.with_name(f".{place.name}.{os.getpid()}.old")
    unfinished.mkdir(parents=True)
    try:
        row_count = _write(con, table, unfinished)
        if place.exists():
            place.rename(replaced)
        unfinished.rename(place)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.rmtree(replaced, ignore_errors=True)
    files = list(place.rglob("*.parquet"))
    return Exported(table, row_count, len(files), sum(file.stat().st_size for file in files))


def _write(con: duckdb.DuckDBPyConnection, table: str, folder: Path) -> int:
    """Write a table in the order of its partitions, so that a partition is one file and not one per thread.

    An empty table has no partition to hold its columns, so it becomes one file without rows.
    """
    row_count = one_value(con, f"select count(*) from {table}")
    if row_count == 0 or table in (*WHOLE, *FITTED_FOR_ALL):
        con.execute(f"copy (from {table}) to {literal(str(folder / 'all.parquet'))} (format parquet, compression zstd)")
        return int(row_count)
    rows, partitions = f"from {table} order by cluster_id", "cluster_id"
    if table in DATED:
        rows = f"select *, cast({DATED[table]} as date) as event_date from {table} order by cluster_id, event_date"
        partitions = "cluster_id, event_date"
    con.execute(
        f"copy ({rows}) to {literal(str(folder))} "
        f"(format parquet, compression zstd, partition_by ({partitions}), overwrite_or_ignore)"
    )
    return int(row_count)
