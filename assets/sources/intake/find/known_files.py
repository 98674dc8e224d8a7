"""What `ops.files` says of the files that were read or refused, and how to forget a file or a cluster."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import duckdb

from assets.sources.intake.find.folder import ALONE, REFUSED, KnownFile
from assets.sources.reader import Reader, SourceFile
from assets.sources.temp_tables import TempTable
from assets.sql import identifier, literal

Key = tuple[str, str]
"""Cluster and path: the key of a file in `ops.files`, and in every table of `PER_FILE_TABLES`."""
PER_FILE_TABLES = (
    "ops.files",
    "ops.quarantine",
    "ops.skips",
    "ops.years",
    "raw.sightings",
    "raw.unknown_lines",
)
"""Tables with rows by file, besides the raw table of the kind: a file is forgotten or renamed in all of them."""
REMOVED_FILES = TempTable("removed_files", {"cluster_id": "varchar", "path": "varchar"})


def known_files(con: duckdb.DuckDBPyConnection, kind: str | None = None) -> dict[tuple[str, str], KnownFile]:
    """Return the rows of `ops.files` by cluster and path."""
    rows = con.execute(
        """
        select
            cluster_id, path, size_bytes, modified_at, sha256, dialect, reader, status, reason, next_step, is_present,
            loaded, version_of, text_sha256, text_bytes, open_line is not null
        from ops.files where $kind is null or kind = $kind
        """,
        {"kind": kind},
    ).fetchall()
    return {(row[0], row[1]): KnownFile(*row[2:]) for row in rows}


def with_history(known: Mapping[Key, KnownFile]) -> set[Key]:
    """Return the keys of files that a cluster needs and that were read, at least in part; older versions included."""
    return {
        (cluster_id, file.version_of or path)
        for (cluster_id, path), file in known.items()
        if file.status != REFUSED and any(is_of_kind(path, kind) for kind in ALONE)
    }


def is_of_kind(path: str, kind: str) -> bool:
    """Return whether a file is in the folder of a kind, by its path.

    >>> is_of_kind("c1/sacct/2024/may.psv", "sacct")
    True
    """
    return path.split("/")[1] == kind


def note_modification(con: duckdb.DuckDBPyConnection, file: SourceFile) -> None:
    """Record the new modification time of a file with unchanged content."""
    con.execute(
        "update ops.files set modified_at = ?, is_present = true where cluster_id = ? and path = ?",
        [file.modified_at, file.cluster_id, file.path],
    )


def forget_files(con: duckdb.DuckDBPyConnection, reader: Reader, keys: Sequence[tuple[str, str]]) -> None:
    """Delete the rows and accounts of files."""
    if not keys:
        return
    REMOVED_FILES.fill(con, keys)
    for table in (f"raw.{reader.TABLE}", *PER_FILE_TABLES):
        con.execute(
            f"delete from {table} using removed_files as removed "
            f"where {table}.cluster_id = removed.cluster_id and {table}.path = removed.path"
        )


def copy_without(con: duckdb.DuckDBPyConnection, file: Path, clusters: Collection[str]) -> None:
    """Fill an empty warehouse from a file, without some clusters; tables about runs stay empty.

    A new file has no freed blocks that still hold names.
    """
    tables = con.execute(
        "select schema_name, table_name from duckdb_tables()"
        " where schema_name = 'raw' or list_contains($kept, schema_name || '.' || table_name)",
        {"kept": [*PER_FILE_TABLES, "ops.privacy"]},
    ).fetchall()
    con.execute(f"attach {literal(str(file))} as whole (read_only)")
    for schema, table in tables:
        con.execute(
            f"insert into {identifier(schema, table)} by name from whole.{identifier(schema, table)}"
            " where not list_contains($clusters::varchar[], cluster_id)",
            {"clusters": [*clusters]},
        )
    con.execute("detach whole")
    con.execute("checkpoint")
