"""Remove redundant rows of older versions of files, once all files are read.

A row of a version is deleted, and its line skipped as `superseded`, if another file has a row that is equal in all
columns but its place. If the versions of a file have several records of the same thing, the newest counts, unless it is
open and an older one has ended. A version without rows is forgotten.
"""

from __future__ import annotations

import shlex

import duckdb

from assets.sources.intake.find.folder import REFUSED
from assets.sources.intake.find.known_files import forget_files
from assets.sources.reader import Reader
from assets.sql import fill, identifier

OF_PLACE = {"cluster_id", "path", "line_number", "disposition", "node_id", "line_count", "dated_by_file_at"}
"""Columns that say where a row is from or by which date it was read, and columns that are recomputed from all rows."""


def supersede(con: duckdb.DuckDBPyConnection, reader: Reader) -> None:
    """Remove redundant rows from the older versions of a kind's files."""
    if reader.ROWS.time is None:
        return
    con.execute(
        """
        create or replace temp table versions as
        select cluster_id, path, version_of from ops.files where kind = ? and version_of is not null
        """,
        [reader.KIND],
    )
    if not con.execute("from versions limit 1").fetchall():
        return
    con.execute("create or replace temp table superseded_rows (row_key bigint)")
    if export := reader.ROWS.export:
        con.execute(
            fill(
                "sources/intake/account/records_of_newer.sql",
                table=reader.TABLE,
                key=export.key,
                is_open=export.is_open,
                is_same=export.is_same,
                logs=export.logs,
            )
        )
    if reader.TABLE == "squeue_exclusions":
        con.execute(fill("sources/intake/account/rows_seen_before.sql"))
    _find_stated_rows(con, reader)
    _delete_rows(con, reader)
    empty = con.execute(
        fill("sources/intake/account/empty_versions.sql", table=reader.TABLE, kind=reader.KIND)
    ).fetchall()
    forget_files(con, reader, empty)
    if reader.TABLE == "nodes":
        # A snapshot is later than older versions of its file. Without a time of a node, its moment is its file's time.
        # The times of nodes may go back: when a node comes back, its reason is removed, and the time of it.
        con.execute(fill("sources/intake/account/nodes_after_versions.sql"))


def _find_stated_rows(con: duckdb.DuckDBPyConnection, reader: Reader) -> None:
    described = con.execute(f"select column_name from (describe raw.{reader.TABLE})").fetchall()
    content = f"hash({', '.join(identifier(name) for (name,) in described if name not in OF_PLACE)})"
    con.execute(
        fill("sources/intake/account/stated_rows.sql", table=reader.TABLE, time=reader.ROWS.time, content=content)
    )


def _delete_rows(con: duckdb.DuckDBPyConnection, reader: Reader) -> None:
    """Delete the superseded rows, and skip the lines without any row left."""
    con.execute(
        f"""
        create or replace temp table superseded_lines as
        select distinct cluster_id, path, line_number
        from raw.{reader.TABLE} where rowid in (select row_key from superseded_rows)
        """
    )
    con.execute(fill("sources/intake/account/superseded_rows.sql", table=reader.TABLE))


def shortened_files(con: duckdb.DuckDBPyConnection, run_id: str) -> list[str]:
    """Return a message for each file that became shorter within the same time: how many earlier lines are kept."""
    rows = con.execute(
        """
        select older.path, newer.path, older.loaded, older.lines_in, newer.lines_in
        from ops.files as older
        inner join ops.files as newer on newer.cluster_id = older.cluster_id and newer.path = older.version_of
        where older.run_id = $run_id and older.loaded > 0 and newer.status <> $refused
            and newer.lines_in < older.lines_in
            and newer.first_at >= older.first_at and newer.last_at <= older.last_at
        order by older.cluster_id, older.path
        """,
        {"refused": REFUSED, "run_id": run_id},
    ).fetchall()
    return [
        f"{path}: shorter than before within the same time ({lines_now:,} lines, before {lines_before:,}); {kept:,}"
        f" lines that only its older version has stay until"
        f" `faultline refresh --forget {shlex.quote(older_path)} --yes` is run"
        for older_path, path, kept, lines_before, lines_now in rows
    ]
