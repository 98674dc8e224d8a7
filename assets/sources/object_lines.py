"""Files of JSON objects, one a line from its first byte on: DuckDB's JSON reader sees the lines that `lines` would.

One look at a file's bytes says whether it is such a file. An archive is unpacked at the same time: DuckDB would take on
trust that it is whole, and text, and unpack it once more.
"""

from __future__ import annotations

import codecs
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from assets.sources.lines import REPLACEMENT, chunks, decode

PIECE = 128 * 1024
"""What is looked at together. The memory of larger pieces goes back to the system each time: thrice the time."""
LONGEST = 512 * 1024
_NEWLINE, _BRACE = 10, 123


def count_object_lines(path: Path, unpacked: Path | None = None) -> int | None:
    """Count the lines of a file of one JSON object a line; None when anything about its lines is out of the ordinary.

    Parameters
    ----------
    path
        An archive by its name, or a file that `lines.inspect` found plain.
    unpacked
        Where the text of an archive is written.

    A line that begins with anything but a brace, blank ones included; carriage returns, at which `lines` ends a line
    and JSON does not; bytes that `lines` replaces, unless JSON refuses them; lines of half a megabyte; archives
    that are cut off or damaged.
    """
    decoder = codecs.getincrementaldecoder("utf-8")() if unpacked else None
    lines, begun = 0, 0
    with ExitStack() as stack:
        out = stack.enter_context(unpacked.open("wb")) if unpacked else None
        try:
            for chunk in chunks(path):
                if b"\r" in chunk or (decoder and REPLACEMENT in decode(decoder, chunk)):
                    return None
                for start in range(0, len(chunk), PIECE):
                    piece = chunk[start : start + PIECE]
                    ended = _count_lines(piece, is_at_begin=not begun)
                    if ended is None:
                        return None
                    lines += ended
                    begun = len(piece) - piece.rfind(b"\n") - 1 if ended else begun + len(piece)
                    if begun > LONGEST:
                        return None
                if out:
                    out.write(chunk)
            if decoder:
                decoder.decode(b"", final=True)
        except (EOFError, OSError, UnicodeDecodeError):
            return None
    return lines + bool(begun)


def _count_lines(piece: bytes, is_at_begin: bool) -> int | None:
    """Count the lines that end here; None unless every line that begins here does so with a brace."""
    codes = np.frombuffer(piece, np.uint8)
    ends = codes == _NEWLINE
    count = int(np.count_nonzero(ends))
    begun = np.count_nonzero(ends[:-1] & (codes[1:] == _BRACE))
    if (is_at_begin and codes[0] != _BRACE) or begun != count - ends[-1]:
        return None
    return count
