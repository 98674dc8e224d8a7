"""The lines of a text that comes in pieces."""

from __future__ import annotations

from collections.abc import Iterator


def lines_of(pieces: Iterator[str]) -> Iterator[str]:
    r"""Yield the lines without their ends.

    >>> list(lines_of(iter(["a\r", "\nb", "c\n\n", "d"])))
    ['a', 'bc', '', 'd']
    """
    begun: list[str] = []
    for piece in pieces:
        first, *rest = piece.split("\n")
        begun.append(first)
        if rest:
            yield "".join(begun).removesuffix("\r")
            yield from (line.removesuffix("\r") for line in rest[:-1])
            begun = [rest[-1]]
    if last := "".join(begun):
        yield last.removesuffix("\r")
