"""Days on which the logs could have shown a fault, by node and kind of log, and blind logs.

A line is understood if its time and host were read, whether or not it matters. Most lines of a log are not read
further, so a sample represents them. A log is blind if fewer than half of its lines are understood: it covers nothing,
and shows no node.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from assets.log_kinds import export_again
from assets.sources.batch_tables import SAMPLED_LINES
from assets.sources.intake.find.folder import CUT_OFF, READ
from assets.sources.reader import Reader
from assets.sources.text.times import FIRST_TIME, LAST_TIME
from assets.sql import fill
from assets.warehouse import one_value

BLIND = "blind"
"""The value of `ops.files.status` for such a log."""

CHANCE = 0.05
"""If a node would be this silent by chance with at most this probability, its log is missing."""


def sample_lines(con: duckdb.DuckDBPyConnection, reader: Reader) -> None:
    """Fill `sampled_lines`: the first 64 lines of a file, and fewer of the others the further down they are."""
    if not reader.ROWS.are_sampled:
        SAMPLED_LINES.create(con)
        return
    SAMPLED_LINES.create_from(con, fill("sources/intake/account/sampled_lines.sql"))


def note_sightings(con: duckdb.DuckDBPyConnection, reader: Reader) -> None:
    """Record in `raw.sightings` the hosts that a file shows, by day."""
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
    """Return the blind files of a batch, with the reasons."""
    rows = reader.ROWS
    if not (rows.are_sampled or rows.come_from_nodes):
        return []
    statement = fill(
        "sources/intake/account/blind_files.sql", come_from_nodes=rows.come_from_nodes, is_sampled=rows.are_sampled
    )
    return con.execute(statement).fetchall()


def write_sight(con: duckdb.DuckDBPyConnection) -> int:
    """Replace `ops.sight`, the days on which the loaded files could have shown a fault; return its number of rows.

    A node is seen from its first to its last line in a file. A gap between two files, or between a file and the end of
    what its kind covers, counts as seen if its kind covers the gap and a node that logs this often would be silent for
    that long in more than `CHANCE` of all cases. A log of symptoms alone is a selection from the logs of all nodes.
    The controller's log and node events show all nodes. The transaction is the caller's.
    """
    con.execute("delete from ops.sight")
    statement = fill(
        "sources/intake/account/sight.sql",
        chance=CHANCE,
        read=READ,
        cut_off=CUT_OFF,
        first_date=FIRST_TIME.date().isoformat(),
        last_date=LAST_TIME.date().isoformat(),
    )
    return int(one_value(con, statement))
