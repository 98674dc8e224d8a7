"""Files of JSON objects, one a line from its first byte on: DuckDB's JSON reader sees the lines that `lines` would."""

from __future__ import annotations

import numpy as np

PIECE = 128 * 1024
"""Bytes that are looked at together. The memory of larger pieces goes back to the system each time: thrice the time."""
MAX_OBJECT_BYTES = 512 * 1024
_NEWLINE, _BRACE, _LAST_BRACE = 10, 123, 125


class ObjectLines:
    """Counts the lines of a file while its bytes go by, as long as every line begins and ends with a brace.

    Anything else about the lines that `lines` and JSON would not see alike ends the count: blank and indented lines;
    carriage returns, at which `lines` ends a line and JSON does not; lines of half a megabyte. With a line that is cut
    off DuckDB's JSON reader may lose the next one.
    """

    def __init__(self) -> None:
        self._ended, self._begun, self._last = 0, 0, 0
        self.is_odd = False

    @property
    def count(self) -> int | None:
        """How many lines there were, the last one with or without its end; None when anything was odd."""
        return None if self.is_odd else self._ended + bool(self._begun)

    def add(self, chunk: bytes) -> None:
        """Look at the next bytes of the file."""
        self.is_odd = self.is_odd or b"\r" in chunk
        for start in range(0, len(chunk), PIECE):
            if self.is_odd:
                return
            self._add_piece(chunk[start : start + PIECE])

    def _add_piece(self, piece: bytes) -> None:
        codes = np.frombuffer(piece, np.uint8)
        ends = codes == _NEWLINE
        count = int(np.count_nonzero(ends))
        at_brace = np.count_nonzero(ends[:-1] & (codes[1:] == _BRACE))
        behind_brace = np.count_nonzero(ends[1:] & (codes[:-1] == _LAST_BRACE))
        behind_brace += ends[0] and self._last == _LAST_BRACE
        if (not self._begun and codes[0] != _BRACE) or at_brace != count - ends[-1] or behind_brace != count:
            self.is_odd = True
            return
        self._last = codes[-1]
        self._ended += count
        self._begun = len(piece) - piece.rfind(b"\n") - 1 if count else self._begun + len(piece)
        self.is_odd = self._begun > MAX_OBJECT_BYTES
