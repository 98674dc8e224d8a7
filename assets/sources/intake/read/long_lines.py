"""Find and cut lines that are too long while a file is read in pieces, so that none is ever whole in memory.

A line of a log has a few hundred characters, and a record of JSON on one line may have millions. A longer line, or more
than a few long lines in a file, is no log: an archive of a hundred kilobytes can hold a line of gigabytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

MAX_LINE = 8 * 1024 * 1024
"""Longer lines are cut off, and quarantined."""
WINDOW = 64 * 1024
"""A stretch of a file without the end of a line: DuckDB holds 2,048 lines at a time, and copies of them."""
MAX_LONG = 16 * 1024 * 1024
"""What the stretches without the end of a line may come to in one file."""
MARK = "\x01\x02\x03\x05"
"""Stands at the end of a line that is cut off."""


class LineLengths:
    """Measures the lines of a file, roughly where they are short."""

    def __init__(self) -> None:
        self._length, self._long = 0, 0

    @property
    def is_too_long(self) -> bool:
        """Whether the line at hand is too long, or one too many of the long ones."""
        return self._length > MAX_LINE or (self._long > MAX_LONG and self._length > WINDOW)

    def add(self, window: bytes) -> int:
        """Look at up to `WINDOW` bytes, and return where the line at hand ends: behind them where it goes on."""
        begins = max(window.rfind(b"\n"), window.rfind(b"\r")) + 1
        if begins == 0:
            self._length += len(window)
            self._long += len(window) if len(window) > WINDOW - 4 or self._length > WINDOW else 0
            return len(window)
        self._length = len(window) - begins
        return _first_end(window)


def has_long_line(lengths: LineLengths, chunk: bytes) -> bool:
    """Tell whether a line that is too long ends in a chunk or goes on behind it."""
    for window in _windows(chunk):
        lengths.add(window)
        if lengths.is_too_long:
            return True
    return False


def _windows(chunk: bytes) -> Iterator[bytes]:
    """Cut a text into windows that end where a character does: a line may be cut off behind any of them."""
    start = 0
    while start < len(chunk):
        end = start + WINDOW
        while end > start + WINDOW - 4 and chunk[end : end + 1] and chunk[end] & 0xC0 == 0x80:
            end -= 1
        yield chunk[start:end]
        start = end


def _first_end(window: bytes) -> int:
    newline = window.find(b"\n")
    found = window.find(b"\r", 0, newline if newline >= 0 else len(window))
    return found if found >= 0 else newline


class CuttingWriter:
    """Writes text to a file, and of lines that are too long only their beginning and a mark."""

    def __init__(self, out: BinaryIO) -> None:
        self._out, self._lengths = out, LineLengths()
        self._is_cutting, self.has_cut = False, False

    def write(self, text: bytes) -> None:
        """Write what of the text is to be kept."""
        for window in _windows(text):
            end = self._lengths.add(window)
            if self._is_cutting:
                self._is_cutting = end == len(window)
                self._out.write(window[end:])
            elif end == len(window) and self._lengths.is_too_long:
                self._is_cutting = self.has_cut = True
                self._out.write(MARK.encode())
            else:
                self._out.write(window)
