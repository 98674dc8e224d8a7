"""The few lines of a file that are read by lines while all others are read at once."""

from __future__ import annotations

MAX_LEFT_BYTES = 32 * 1024 * 1024
"""They are held in memory."""


def max_left_count(line_count: int) -> float:
    """Return how many lines of a file may be left; with more, reading it in two ways gains nothing.

    >>> max_left_count(100_000)
    5000.0
    """
    return max(1000, 0.05 * line_count)


class LeftLines:
    """Lines of one file by their numbers, without BOM; blank ones are None, as `lines` has them."""

    def __init__(self) -> None:
        """Hold none."""
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
        return len(self.texts) > max_left_count(line_count) or self._bytes > MAX_LEFT_BYTES
