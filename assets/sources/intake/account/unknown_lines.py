"""Count the lines of a batch that no rule knows by shape, node and five minutes; keep the commonest shapes."""

from __future__ import annotations

import duckdb

from assets.sources.reader import Rows
from assets.sources.text import unknown_lines
from assets.sources.text.masking import MAX_MASKED, masked
from assets.sources.text.pseudonyms import KEPT, TEXT, stored
from assets.sql import fill

TABLE = "unknown_lines"
PRIVACY = {"kind": KEPT, "shape": TEXT, "example": TEXT}
ROWS = Rows(time="first_at", free_texts=(), may_lack_years=True)
"""The lines are masked before they are counted."""
MAX_SHAPES = 1000
"""The most shapes of a file that are kept, the commonest first."""
BIN_MINUTES = 5
"""Attribution looks ten minutes back, so the exact time within fewer minutes does not matter."""


def keep_unknown_lines(con: duckdb.DuckDBPyConnection, *, is_pseudonymous: bool) -> None:
    """Move the lines in `unknown_lines` into the raw table."""
    if not con.execute("from temp.unknown_lines limit 1").fetchall():
        return
    shape, example = ((is_pseudonymous and stored(TEXT, name)) or name for name in ("shape", "example"))
    con.execute(
        fill(
            "sources/intake/account/unknown_lines.sql",
            max_masked=MAX_MASKED,
            masked=masked("bounded"),
            shape_of_text=unknown_lines.shape("text"),
            max_characters=unknown_lines.MAX_CHARACTERS,
            shape=shape,
            example=example,
            bin_minutes=BIN_MINUTES,
            max_shapes=MAX_SHAPES,
        )
    )
