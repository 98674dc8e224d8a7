"""Mark files of which too many lines were not understood: most likely they are not logs of this kind.

Their rows stay loaded. A doubtful accounting file makes the cluster incomplete; another log then covers nothing.
"""

from __future__ import annotations

import duckdb

from assets.sources.intake.find.folder import READ
from assets.sql import fill

DOUBTFUL = "doubtful"
"""What `ops.files.status` says of such a file."""


def mark_doubtful_files(con: duckdb.DuckDBPyConnection) -> None:
    """Set in `ops.files` whether each file can be trusted, by the share of its lines that is quarantined.

    The transaction is the caller's.
    """
    con.execute(fill("sources/intake/account/doubtful_files.sql", doubtful=DOUBTFUL, read=READ))
