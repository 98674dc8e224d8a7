"""Remove what need not be kept of the older versions of files, once all files are read.

A row of a version that another file states is deleted, and its line is skipped as `superseded`. A version without rows
whose time others cover is forgotten. An export states all of its span: a newer one that covers an older one takes its
place, and a record that both state is the newer one's. A row that no other file states stays.
"""

from __future__ import annotations

import shlex

import duckdb

from assets.sources.intake.find.folder import CUT_OFF, READ, REFUSED
from assets.sources.intake.find.known_files import forget_files
from assets.sources.reader import Export, Reader
from assets.sql import fill, identifier

COVERED_SHARE = 0.95
"""A newer export that covers an older one has at least this share of its records."""

OF_PLACE = {"cluster_id", "path", "line_number", "disposition", "node_id", "line_count", "dated_by_file_at"}
"""Columns that say where a row stands, by which date it was read, or what is worked out anew from all rows."""


def supersede(con: duckdb.DuckDBPyConnection, reader: Reader) -> bool:
    """Remove from the older versions of a kind's files what need not be kept.

    Only versions are compared that the files read in this refresh may concern.

    Returns
    -------
    Whether rows were deleted.
    """
    if reader.ROWS.time is None:
        return False
    con.execute(fill("sources/intake/account/versions_to_judge.sql", kind=reader.KIND, refused=REFUSED))
    if not con.execute("from versions limit 1").fetchall():
        return False
    con.execute("create or replace temp table superseded_rows (row_key bigint)")
    covered = _forget_covered(con, reader, reader.ROWS.export) if reader.ROWS.export else False
    if reader.TABLE == "squeue_exclusions":
        con.execute(fill("sources/intake/account/rows_seen_before.sql"))
    _find_stated_rows(con, reader)
    has_rows = _delete_rows(con, reader)
    emptied = _forget_empty(con, reader)
    if reader.TABLE == "nodes":
        # A snapshot is later than the older versions of its file: its file's time is its moment, if no node tells one.
        # The times of nodes may go back: the reason of one that came back is gone, and so is its time.
        con.execute(fill("sources/intake/account/nodes_after_versions.sql"))
    return has_rows or covered or emptied


def _forget_covered(con: duckdb.DuckDBPyConnection, reader: Reader, export: Export) -> bool:
    """Forget the versions of exports that their file covers now, and find the records of others that it states."""
    covered = con.execute(
        fill(
            "sources/intake/account/covered_versions.sql",
            table=reader.TABLE,
            key=export.key,
            read=READ,
            covered_share=COVERED_SHARE,
            logs=export.logs,
        )
    ).fetchall()
    forget_files(con, reader, covered)
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
    return bool(covered)


def _find_stated_rows(con: duckdb.DuckDBPyConnection, reader: Reader) -> None:
    described = con.execute(f"select column_name from (describe raw.{reader.TABLE})").fetchall()
    content = f"hash({', '.join(identifier(name) for (name,) in described if name not in OF_PLACE)})"
    con.execute(
        fill("sources/intake/account/stated_rows.sql", table=reader.TABLE, time=reader.ROWS.time, content=content)
    )


def _delete_rows(con: duckdb.DuckDBPyConnection, reader: Reader) -> bool:
    """Delete the superseded rows, and skip the lines of which none is left; tell whether there were any."""
    con.execute(
        f"""
        create or replace temp table superseded_lines as
        select distinct cluster_id, path, line_number
        from raw.{reader.TABLE} where rowid in (select row_key from superseded_rows)
        """
    )
    if not con.execute("from superseded_lines limit 1").fetchall():
        return False
    con.execute(fill("sources/intake/account/superseded_rows.sql", table=reader.TABLE))
    return True


def _forget_empty(con: duckdb.DuckDBPyConnection, reader: Reader) -> bool:
    """Forget versions without rows whose time another version covers, or a file that states what they stated."""
    empty = con.execute(
        fill(
            "sources/intake/account/empty_versions.sql",
            table=reader.TABLE,
            kind=reader.KIND,
            read=READ,
            cut_off=CUT_OFF,
        )
    ).fetchall()
    forget_files(con, reader, empty)
    return bool(empty)


def version_warnings(con: duckdb.DuckDBPyConnection, run_id: str) -> list[str]:
    """Say of each version that a run has made how many lines stay, and whether its file became shorter."""
    rows = con.execute(
        """
        select
            older.cluster_id, older.path, older.version_of, older.loaded, older.lines_in,
            if(newer.status <> $refused and newer.lines_in < older.lines_in
               and newer.first_at >= older.first_at and newer.last_at <= older.last_at, newer.lines_in, null)
        from ops.files as older
        left join ops.files as newer on newer.cluster_id = older.cluster_id and newer.path = older.version_of
        where older.version_of is not null and older.run_id = $run_id
        order by older.cluster_id, older.path
        """,
        {"refused": REFUSED, "run_id": run_id},
    ).fetchall()
    messages = []
    for cluster_id, path, base_path, kept, lines_before, lines_now in rows:
        what = f"other bytes than before; {kept:,} lines that only its older version has stay"
        if lines_now is not None:
            what = f"shorter than before within the same time ({lines_now:,} lines, before {lines_before:,}); {what}"
        messages.append(f"{base_path}: {what} until `faultline forget {shlex.join([cluster_id, path])} --yes` is run")
    return messages
