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

from assets.sources.lines import REPLACEMENT, chunks

PIECE = 256 * 1024
"""What a processor core holds near."""
PACKED_PIECE = 64 * 1024
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
    and JSON does not; bytes that `lines` replaces, unless JSON refuses them; lines of half a megabyte; archives
    that DuckDB might refuse.
    """
    is_archive = path.suffix == ".gz"
    decoder = codecs.getincrementaldecoder("utf-8")() if is_archive else None
    lines, text_bytes, last = 0, 0, _NEWLINE
    try:
        for chunk in filter(None, _members(path) if is_archive else chunks(path)):
            newlines = _count_newlines(chunk) if last != _NEWLINE or chunk[0] == _BRACE else None
            if newlines is None or (decoder and REPLACEMENT in decoder.decode(chunk)):
                return None
            lines += newlines
            text_bytes += len(chunk)
            last = chunk[-1]
        if decoder:
            decoder.decode(b"", final=True)
    except (EOFError, OSError, UnicodeDecodeError, zlib.error):
        return None
    return ObjectLines(lines + (last != _NEWLINE), text_bytes)


def _count_newlines(chunk: bytes) -> int | None:
    """Count the newlines of a chunk; None unless all are followed by a brace, if anything."""
    if b"\r" in chunk:
        return None
    count = 0
    codes = np.frombuffer(chunk, np.uint8)
    for start in range(0, len(codes), PIECE):
        piece, behind = codes[start : start + PIECE], codes[start + 1 : start + 1 + PIECE]
        is_newline = piece == _NEWLINE
        newlines = int(np.count_nonzero(is_newline))
        if np.count_nonzero(is_newline[: len(behind)] & (behind != _BRACE)) or (newlines == 0 and len(piece) == PIECE):
            return None
        count += newlines
    # An archive that hardly compresses comes in small chunks, and a long line goes over many of them.
    return count if count or len(chunk) < PACKED_PIECE // 2 else None


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
        for packed in iter(lambda: stream.read(PACKED_PIECE), b""):
            if unpacker.eof:
                raise EOFError("more than one archive")
            yield unpacker.decompress(packed)
        if not unpacker.eof or unpacker.unused_data:
            raise EOFError("cut off, or followed by something")
