"""Find the odd lines of a file, so that all other lines can be read at once.

DuckDB's readers of whole files expect a record in each line. A file with odd lines is copied with another line in the
place of each of them, so that the other lines keep their numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from assets.sources.regular import blocks_of_lines, open_regular

MAX_ODD_BYTES = 32 * 1024 * 1024
"""Odd lines are held in memory. A file with more is read by lines."""
BLOCK = 128 * 1024
"""Bytes that are scanned together: the memory of larger blocks goes back to the system each time."""
_NEWLINE = 10


def max_odd_count(line_count: int) -> float:
    """Return how many lines of a file may be odd; with more, reading it in two ways gains nothing.

    >>> max_odd_count(100_000)
    5000.0
    """
    return max(1000, 0.05 * line_count)


class OddLines:
    """Lines of one file by their numbers, without BOM; blank ones are None, as `lines` has them."""

    def __init__(self) -> None:
        """Begin without any."""
        self.texts: dict[int, str | None] = {}
        self._bytes = 0

    def add(self, number: int, line: bytes) -> None:
        """Add a line without its end."""
        text = line.decode("utf-8", errors="replace")
        if number == 1:
            text = text.removeprefix("\ufeff")
        self.texts[number] = text if text.strip(" \t") else None
        self._bytes += len(line)

    def are_too_many(self, line_count: int) -> bool:
        """Tell whether the whole file has to be read by lines; so far it has `line_count` of them."""
        return len(self.texts) > max_odd_count(line_count) or self._bytes > MAX_ODD_BYTES


class BlockOfLines:
    """Whole lines that stand together in a file, with the places at which they begin and end."""

    def __init__(self, text: bytes) -> None:
        """Find where the lines of a text end, which is not empty."""
        self.text, self.codes = text, np.frombuffer(text, np.uint8)
        ends = np.flatnonzero(self.codes == _NEWLINE)
        self.ends = ends if text.endswith(b"\n") else np.append(ends, len(text))
        self.starts = np.concatenate(([0], self.ends[:-1] + 1))

    def __getitem__(self, place: int) -> bytes:
        """Return a line without its end."""
        return self.text[self.starts[place] : self.ends[place]]

    def without_count(self, character: bytes, count: int) -> list[int]:
        """Return the places of the lines in which a character stands more or less often than that."""
        before = np.searchsorted(np.flatnonzero(self.codes == character[0]), self.ends)
        return np.flatnonzero(np.diff(before, prepend=0) != count).tolist()

    def not_between(self, first: bytes, last: bytes) -> list[int]:
        """Return the places of the lines that do not begin and end with these characters."""
        begins, ends = self.codes[self.starts] == first[0], self.codes[self.ends - 1] == last[0]
        return np.flatnonzero(~(begins & ends)).tolist()

    def places_of(self, sought: bytes) -> set[int]:
        """Return the places of the lines that hold a rare sequence."""
        found: set[int] = set()
        # The first byte alone is found in a tenth of the time.
        at = self.text.find(sought) if sought[:1] in self.text else -1
        while at >= 0:
            place = int(np.searchsorted(self.ends, at))
            found.add(place)
            at = self.text.find(sought, self.ends[place])
        return found


@dataclass(frozen=True)
class ScannedLines:
    """The findings of one pass over the lines of a file."""

    line_count: int
    odd: OddLines
    spans: Sequence[tuple[int, int]]
    """Where the odd lines begin and end in the file."""
    end: int
    """Where the last line ended."""

    def copy_without(self, path: Path, stand_in: bytes, target: Path) -> None:
        """Copy the file with a text in the place of each odd line."""
        with open_regular(path) as source, target.open("wb") as copy:
            at = 0
            for start, end in self.spans:
                _copy(source, copy, start - at)
                copy.write(stand_in)
                at = source.seek(end)
            _copy(source, copy, self.end - at)


def _copy(source: BinaryIO, target: BinaryIO, size: int) -> None:
    while size > 0 and (piece := source.read(min(size, BLOCK))):
        target.write(piece)
        size -= len(piece)


def scan_lines(
    stream: BinaryIO, find_odd: Callable[[BlockOfLines], Iterable[int] | None], lines_before: int = 0
) -> ScannedLines | None:
    """Find the odd lines among all that follow in a file; None if it must be read by lines.

    That is where lines end at carriage returns too, or very many are odd.

    Parameters
    ----------
    stream
        The open file.
    find_odd
        Gives the places of odd lines in a block, in their order; None if the file cannot be read at once.
    lines_before
        How many lines of the file were read.
    """
    odd_lines, count, position = OddLines(), lines_before, stream.tell()
    spans: list[tuple[int, int]] = []
    for text in blocks_of_lines(stream, BLOCK):
        block = BlockOfLines(text)
        odd = None if b"\r" in text else find_odd(block)
        if odd is None:
            return None
        for place in odd:
            odd_lines.add(count + place + 1, block[place])
            spans.append((position + int(block.starts[place]), position + int(block.ends[place])))
        count, position = count + len(block.ends), position + len(text)
        if odd_lines.are_too_many(count):
            return None
    return ScannedLines(count - lines_before, odd_lines, spans, position)
