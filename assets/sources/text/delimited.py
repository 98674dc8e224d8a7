"""SQL for delimited text with a header: Slurm's `--parsable2` output, where a free-text column may hold the delimiter.

Headers are found anywhere in a file, as exports are often appended to one another; a line is read by the last header.
"""

from __future__ import annotations

import re

from assets.sql import fill, literal

_JOINED = """list_reduce(
    list_slice(parts, place, place + len(parts) - len(names)), lambda one, next_one: one || delimiter || next_one
)"""
"""Joins the parts of the column that takes surplus delimiters; sqlfluff cannot parse a lambda of two parameters."""
_DELIMITER = re.compile(r"[^A-Za-z0-9_ ]+")


def header_delimiter(header: str) -> str | None:
    """Return the separator of the names in a header line: `|`, the unit separator or a tab; None for a single name."""
    found = _DELIMITER.search(header)
    return found[0] if found else None


def field_steps(
    is_header: str, free_text: str, into: str, begins_row: str | None = None, ends_row: str = "false"
) -> list[str]:
    """Return the statements that split lines into named fields.

    Parameters
    ----------
    is_header
        SQL condition on `names varchar[]`, lower-case column names without blanks.
    free_text
        Name of the column that takes surplus delimiters; in a file without it, a surplus is a wrong count.
    into
        Temp table to make: file_id, line_number, names, fields varchar[] (NULL: the count is wrong), field_count.
        Header and blank lines are not in it; `{into}_headers` holds the headers.
    begins_row
        SQL condition on `names` and `parts varchar[]`, for text with line ends inside fields. A line for which it is
        false belongs to the row before it if that row has too few fields. `{into}_continuations` holds such lines.
        Without it every line is a row.
    ends_row
        SQL condition on the same, for a line that ends a row from a line above it, however many fields that line has:
        delimiters in its text may replace the missing ones.
    """
    return [
        fill(
            "sources/text/delimited.sql",
            is_header=is_header,
            free_text=free_text,
            into=into,
            begins_row=begins_row,
            ends_row=ends_row,
            joined=_JOINED,
        )
    ]


def named_field(*names: str) -> str:
    """Return SQL for a trimmed field by the first of its column's possible names; NULL when blank or absent."""
    places = [f"fields[nullif(list_position(names, {literal(name)}), 0)]" for name in names]
    chosen = places[0] if len(places) == 1 else f"coalesce({', '.join(places)})"
    return f"nullif(trim({chosen}), '')"
