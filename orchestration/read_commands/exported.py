"""The parts of an export: relations to write, written files, and their publication."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from assets.sql import identifier
from orchestration.read_commands.catalogue import ColumnListing, TableListing, list_columns


@dataclass(frozen=True)
class LeftOut:
    """What an export leaves out of a table: the number of cells made NULL, and the withheld columns."""

    cell_count: int
    columns: Sequence[str]


@dataclass(frozen=True)
class Relation:
    """What is exported of a table: its columns, and the SELECT that returns them in this order."""

    table: TableListing
    columns: Sequence[ColumnListing]
    select: str
    left_out: LeftOut | None = None


@dataclass(frozen=True)
class ExportedTable:
    """A written table; `file` is relative to the folder of the export."""

    table: str
    file: str
    row_count: int
    size_bytes: int
    sha256: str
    left_out: LeftOut | None = None


@dataclass(frozen=True)
class Publication:
    """The exported publication and its simulated clusters; times are UTC."""

    run_id: str | None
    published_at: str | None
    code_version: str | None
    simulated_clusters: Sequence[str]


def whole_table(con: duckdb.DuckDBPyConnection, table: TableListing) -> Relation:
    """Return the relation of a whole table."""
    return Relation(table, list_columns(con, table.name), f"from {identifier(*table.name.split('.'))}")


def last_publication(con: duckdb.DuckDBPyConnection) -> Publication:
    """Return the publication of an open file."""
    published_last = con.execute(
        "select run_id, published_at, code_version from ops.published order by rowid desc limit 1"
    ).fetchall()
    simulated = con.execute("select cluster_id from marts.dim_clusters where is_simulated order by 1").fetchall()
    run_id, published_at, code_version = published_last[0] if published_last else (None, None, None)
    return Publication(
        run_id,
        f"{published_at.isoformat()}Z" if published_at else None,
        code_version,
        [cluster_id for (cluster_id,) in simulated],
    )
