"""Days on which the logs could have shown a fault, by node and kind of log; and logs that are blind.

A line is understood when its time and host were read, whether or not it matters. Nothing else is looked at in most
lines of a log, so a sample stands for them. A log is blind where fewer than half of its lines are understood: it covers
nothing, and no node is seen in it.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from assets.log_kinds import export_again
from assets.sources.batch_tables import SAMPLED_LINES
from assets.sources.intake.find.folder import CUT_OFF, READ
from assets.sources.reader import Reader
from assets.sql import fill

BLIND = "blind"
"""What `ops.files.status` says of such a log."""

CHANCE = 0.05
"""A node is silent for so long by chance no more often than this; then its log is missing."""


def sample_lines(con: duckdb.DuckDBPyConnection, reader: Reader) -> None:
    """Fill `sampled_lines`: the first 64 lines of a file, of the others fewer the further down they stand."""
    if not reader.ROWS.are_sampled:
        SAMPLED_LINES.create(con)
        return
    SAMPLED_LINES.create_from(con, fill("sources/intake/account/sampled_lines.sql"))


def note_sightings(con: duckdb.DuckDBPyConnection, reader: Reader) -> None:
    """Record in `raw.sightings` which hosts a file shows on which days."""
    if not reader.ROWS.come_from_nodes:
        return
    con.execute(
        fill(
            "sources/intake/account/sightings.sql",
            table=reader.TABLE,
            kind=reader.KIND,
            time=reader.ROWS.time,
            is_sampled=reader.ROWS.are_sampled,
        )
    )


def mark_blind_files(con: duckdb.DuckDBPyConnection, reader: Reader, blind: Sequence[tuple[int, str]]) -> None:
    """Mark files as blind in `ops.files`."""
    for file_id, reason in blind:
        con.execute(
            """
            update ops.files set status = $status, reason = $reason, next_step = $next_step
            where (cluster_id, path) in (select (cluster_id, path) from batch_files where file_id = $file_id)
            """,
            {"status": BLIND, "reason": reason, "next_step": f"{export_again(reader.KIND)}.", "file_id": file_id},
        )


def blind_files(con: duckdb.DuckDBPyConnection, reader: Reader) -> list[tuple[int, str]]:
    """Return the files of a batch that are blind, with the reasons."""
    rows = reader.ROWS
    if not (rows.are_sampled or rows.come_from_nodes):
        return []
    statement = fill(
        "sources/intake/account/blind_files.sql", come_from_nodes=rows.come_from_nodes, is_sampled=rows.are_sampled
    )
    return con.execute(statement).fetchall()


def write_sight(con: duckdb.DuckDBPyConnection) -> int:
    """Replace `ops.sight`: the days on which the loaded files could have shown a fault. Return its number of rows.

    A node is seen from its first to its last line in a file. A gap between two files, or between a file and the end of
    what its kind covers, counts as seen if its kind covers the gap and a node this talkative would be silent for so
    long in more than `CHANCE` of all cases. A log of nothing but symptoms is a selection from the logs of all nodes.
    The controller's log and node events tell of all nodes. The transaction is the caller's.
    """
    con.execute("delete from ops.sight")
    statement = fill("sources/intake/account/sight.sql", chance=CHANCE, read=READ, cut_off=CUT_OFF)
    ((rows,),) = con.execute(statement).fetchall()
    return int(rows)
