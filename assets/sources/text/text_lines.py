"""The lines of a text that comes in pieces, and the cells of lines that are rows of a table."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import chain

MAX_LINE = 1024 * 1024
"""Characters of a line that are kept: what is longer is no row of a table, and no line of a log."""
MAX_ROW_LINES = 50
"""Lines over which a cell in quotes may go."""


def lines_of(pieces: Iterator[str]) -> Iterator[str]:
    r"""Yield the lines without their ends; of one that is too long, its beginning.

    >>> list(lines_of(iter(["a\r", "\nb", "c\n\n", "d"])))
    ['a', 'bc', '', 'd']
    """
    begun = ""
    for piece in pieces:
        first, *rest = piece.split("\n")
        begun = (begun + first)[:MAX_LINE]
        if rest:
            yield begun.removesuffix("\r")
            yield from (line[:MAX_LINE].removesuffix("\r") for line in rest[:-1])
            begun = rest[-1][:MAX_LINE]
    if begun:
        yield begun.removesuffix("\r")


def cells_of(line: str, delimiter: str) -> list[str]:
    """Return the cells of a row; a row whose quotes make no sense is split at every delimiter.

    >>> cells_of('a,"b, c",d', ",")
    ['a', 'b, c', 'd']
    """
    try:
        return next(csv.reader([line.replace("\r", " ").replace("\n", " ")], delimiter=delimiter), [])
    except csv.Error:
        return line.split(delimiter)


def rows_of(lines: Iterator[str], delimiter: str) -> Iterator[tuple[str, list[str]]]:
    r"""Yield the rows of a table with their cells; a cell in quotes may go over several lines.

    >>> list(rows_of(iter(['1,"a', 'b"', '2,"c']), ","))
    [('1,"a b"', ['1', 'a b']), ('2,"c', ['2', 'c'])]
    """
    while (line := next(lines, None)) is not None:
        row = line
        followers: list[str] = []
        while row.count('"') % 2 and len(followers) < MAX_ROW_LINES and len(row) < MAX_LINE:
            if (follower := next(lines, None)) is None:
                break
            followers.append(follower)
            row = f"{row} {follower}"
        if row.count('"') % 2:
            # The quote is never closed: the lines after it are rows of their own.
            lines, row = chain(followers, lines), line
        yield row, cells_of(row, delimiter)
