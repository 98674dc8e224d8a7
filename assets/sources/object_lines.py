"""Files of JSON objects, one a line from its first byte on: DuckDB's JSON reader sees the lines that `lines` would.

One look at a file's bytes says whether it is such a file. It also proves what DuckDB takes on trust: that a compressed
file is whole, and text.
"""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assets.sources.lines import NEVER_IN_LOGS, REPLACEMENT, chunks

PIECE = 256 * 1024
"""Half of what a processor core holds near."""
_NEWLINE, _BRACE = 10, 123
_GZIP_MAGIC, _GZIP_NAME, _GZIP_FLAGS = b"\x1f\x8b\x08", 8, 3


class ObjectLines(NamedTuple):
    """How much text a file holds."""

    lines: int
    text_bytes: int


def count_object_lines(path: Path) -> ObjectLines | None:
    """Count the lines of a file of one JSON object a line; None when anything about its lines is out of the ordinary.

    Parameters
    ----------
    path
        A gzip archive by its name, or a file that `lines.inspect` found plain.

    A line that begins with anything but a brace, blank ones included; carriage returns, at which `lines` ends a line
    and JSON does not; bytes that `lines` replaces; lines of a quarter of a megabyte; archives that DuckDB might refuse.
    """
    is_archive = path.suffix == ".gz"
    decoder = codecs.getincrementaldecoder("utf-8")() if is_archive else None
    lines, text_bytes, last = 0, 0, b"\n"
    try:
        for chunk in _members(path) if is_archive else chunks(path):
            for piece in _pieces(chunk):
                starts = _count_starts(last + piece)
                if starts is None or (decoder and REPLACEMENT in decoder.decode(piece)):
                    return None
                lines += starts
                text_bytes += len(piece)
                last = piece[-1:]
        if decoder:
            decoder.decode(b"", final=True)
    except (EOFError, OSError, UnicodeDecodeError, zlib.error):
        return None
    return ObjectLines(lines, text_bytes)


def _pieces(chunk: bytes) -> Iterator[bytes]:
    return (chunk[start : start + PIECE] for start in range(0, len(chunk), PIECE))


def _count_starts(text: bytes) -> int | None:
    """Count the lines that begin behind the newlines of a text; None unless all do so with a brace."""
    if b"\r" in text or b"\0" in text or NEVER_IN_LOGS[:1].encode() in text:
        return None
    codes = np.frombuffer(text, np.uint8)
    is_newline = codes[:-1] == _NEWLINE
    count = int(np.count_nonzero(is_newline))
    if np.count_nonzero(is_newline & (codes[1:] != _BRACE)) or (count == 0 and len(text) >= PIECE):
        return None
    return count


def _members(path: Path) -> Iterator[bytes]:
    """Give the text of a gzip archive of one member with nothing behind it, which DuckDB reads without fail.

    Raises
    ------
    EOFError
        It is cut off, or some other archive.
    """
    with path.open("rb") as stream:
        head = stream.read(10)
        if not head.startswith(_GZIP_MAGIC) or head[_GZIP_FLAGS] not in {0, _GZIP_NAME}:
            raise EOFError("not a plain gzip archive")
        unpacker = zlib.decompressobj(31)
        yield unpacker.decompress(head)
        for packed in iter(lambda: stream.read(PIECE // 4), b""):
            if unpacker.eof:
                raise EOFError("more than one archive")
            yield unpacker.decompress(packed)
        if not unpacker.eof or unpacker.unused_data:
            raise EOFError("cut off, or followed by something")
