"""Mark files with too many lines that were not understood, and exports of accounting that were cut off.

Their rows stay loaded. A doubtful accounting file makes the cluster incomplete; any other doubtful log covers nothing.
An export that was cut off covers the time up to its last whole line.
"""

from __future__ import annotations

import duckdb

from assets.sources.intake.account.line_accounts import AFTER_LOST_END, ENDS_EARLY
from assets.sources.intake.find.folder import CUT_OFF, READ
from assets.sources.reader import Reader
from assets.sql import fill

DOUBTFUL = "doubtful"
"""The value of `ops.files.status` for such a file."""


def mark_doubtful_files(con: duckdb.DuckDBPyConnection) -> None:
    """Set in `ops.files` whether each file can be trusted, by the share of quarantined lines.

    The transaction is the caller's.
    """
    con.execute(fill("sources/intake/account/doubtful_files.sql", doubtful=DOUBTFUL, read=READ))


def mark_cut_exports(con: duckdb.DuckDBPyConnection, accounting: Reader) -> None:
    """Set in `ops.files` which exports of accounting end before records that they held.

    The transaction is the caller's.
    """
    con.execute(
        fill(
            "sources/intake/account/cut_exports.sql",
            read=READ,
            cut_off=CUT_OFF,
            ends_early=ENDS_EARLY,
            next_step=AFTER_LOST_END,
            logs=accounting.ROWS.export.logs if accounting.ROWS.export else "",
        )
    )


def cut_files(con: duckdb.DuckDBPyConnection, run_id: str) -> list[str]:
    """Return a message for each file that a run found cut off, with what to do about it."""
    rows = con.execute(
        "select path, reason, next_step from ops.files where status = ? and run_id = ? and is_present order by path",
        [CUT_OFF, run_id],
    ).fetchall()
    return [f"{path}: {reason}. {next_step}" for path, reason, next_step in rows]
