"""The lines of a text that comes in pieces, and the cells of rows of a table."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

MAX_LINE = 1024 * 1024
"""Characters of a line that are kept: longer lines are neither rows of a table nor lines of a log."""
MAX_ROW_LINES = 500
"""Most lines of a row with quotes."""
MAX_UNCLOSED = 100
"""Most unclosed quotes of a file whose end is searched for: the lines after each are read again."""


def lines_of(pieces: Iterator[str]) -> Iterator[str]:
    r"""Yield the lines without their ends; of a line that is too long, its beginning.

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
    """Return the cells of a row; a row with invalid quotes is split at every delimiter.

    >>> cells_of('a,"b, c",d', ",")
    ['a', 'b, c', 'd']
    """
    try:
        return next(csv.reader([line.replace("\r", " ").replace("\n", " ")], delimiter=delimiter), [])
    except csv.Error:
        return line.split(delimiter)


@dataclass(frozen=True)
class Row:
    """A row of a table with quoted cells."""

    numbers: list[int]
    """The numbers of its lines."""
    text: str
    """Its lines, joined with spaces."""
    cells: list[str] | str
    """The cells, or the error of the row."""


def rows_of(lines: Iterator[tuple[int, str | None]], delimiter: str) -> Iterator[Row]:
    r"""Yield the rows of a table from its numbered lines; a cell in quotes may span several lines.

    A quote that is never closed must not swallow the rest of the file, so its line alone is a row.

    >>> [(row.numbers, row.cells) for row in rows_of(enumerate(['1,"a', 'b"', '2,"c', "3,d"]), ",")]
    [([0, 1], ['1', 'a\nb']), ([2], 'unexpected end of data'), ([3], ['3', 'd'])]
    """
    waiting: deque[tuple[int, str | None]] = deque(islice(lines, 1))
    unclosed = 0
    while waiting:
        taken = _Following(waiting, lines, MAX_ROW_LINES if unclosed < MAX_UNCLOSED else 1)
        try:
            cells: list[str] | str = next(csv.reader(taken, delimiter=delimiter, strict=True), [])
        except csv.Error as error:
            unclosed += taken.count > 1
            cells, taken.count = str(error), 1
        row = [waiting.popleft() for _ in range(taken.count)]
        yield Row([number for number, _ in row], " ".join(text or "" for _, text in row), cells)
        if not waiting:
            waiting.extend(islice(lines, 1))


class _Following:
    """The lines that the csv module requests while a quote is open; they stay in `waiting`."""

    def __init__(
        self, waiting: deque[tuple[int, str | None]], lines: Iterator[tuple[int, str | None]], most: int
    ) -> None:
        self._waiting, self._lines, self._most = waiting, lines, most
        self.count = self._size = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self.count == len(self._waiting):
            self._waiting.extend(islice(self._lines, 1))
        if self.count == min(len(self._waiting), self._most) or self._size > MAX_LINE:
            raise StopIteration
        text = self._waiting[self.count][1] or ""
        self.count += 1
        self._size += len(text)
        return f"{text}\n"
