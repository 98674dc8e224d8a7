"""Copies of files that DuckDB cannot read in place: unpacked archives, and text cleaned to UTF-8."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from assets.sources.intake.read.clean_text import Cleaner
from assets.sources.intake.read.lines import MARK, LineLengths, chunks, is_compressed, windows
from assets.sources.reader import Copy

MAX_UNPACKED, MAX_UNPACKED_RATIO = 4 * 1024**3, 500
"""An archive larger than both is read up to there, as if it were cut off: logs are packed to a tenth."""


@dataclass
class Unpacked:
    """The hash and the size of the text in an archive."""

    sha256: str = ""
    size_bytes: int = 0

    def note(self, text: Iterator[bytes]) -> Iterator[bytes]:
        """Yield a text in pieces, and record its hash and size when it ends or is cut off."""
        digest, self.size_bytes = hashlib.sha256(), 0
        try:
            for piece in text:
                digest.update(piece)
                self.size_bytes += len(piece)
                yield piece
        finally:
            self.sha256 = digest.hexdigest()


class CuttingWriter:
    """Writes text to a file; a line that is too long is cut off and marked."""

    def __init__(self, out: BinaryIO) -> None:
        self._out, self._lengths = out, LineLengths()
        self._is_cutting, self.has_cut = False, False

    def write(self, text: bytes) -> None:
        """Write a piece of text, without the rest of a line that is cut off."""
        for window in windows(text):
            end = self._lengths.add(window)
            if self._is_cutting:
                self._is_cutting = end == len(window)
                self._out.write(window[end:])
            elif end == len(window) and self._lengths.is_too_long:
                self._is_cutting = self.has_cut = True
                self._out.write(MARK.encode())
            else:
                self._out.write(window)


class UnpackedText:
    """The clean text of a file in pieces, and the faults of its bytes."""

    def __init__(self, path: Path, text: Iterator[bytes] | None = None) -> None:
        self._size, self._cleaner = path.stat().st_size, Cleaner()
        self._text = chunks(path) if text is None else text
        self.is_cut, self.last = False, b""
        """Whether the end of the archive is missing; the last byte of the text."""

    @property
    def has_bad_bytes(self) -> bool:
        """Whether there were bytes that are not UTF-8, or NULs."""
        return self._cleaner.has_bad_bytes

    def pieces(self) -> Iterator[bytes]:
        """Yield the text; for an archive that is cut off or too large, its beginning."""
        try:
            for text in self._cleaner.pieces(self._bounded()):
                self.last = text[-1:] or self.last
                yield text
        except EOFError:
            self.is_cut = True

    def _bounded(self) -> Iterator[bytes]:
        unpacked = 0
        for chunk in self._text:
            unpacked += len(chunk)
            if unpacked > MAX_UNPACKED and unpacked > MAX_UNPACKED_RATIO * self._size:
                raise EOFError("the archive holds more than any log does")
            yield chunk


def write_copy(path: Path, target: Path) -> Copy:
    """Write the text of a file as UTF-8 that DuckDB can read."""
    unpacked = Unpacked()
    text = UnpackedText(path, unpacked.note(chunks(path)))
    with target.open("wb") as file:
        out = CuttingWriter(file)
        for piece in text.pieces():
            out.write(piece)
    of_archive = (unpacked.sha256, unpacked.size_bytes) if is_compressed(path) else (None, None)
    return Copy(target, text.is_cut, text.last != b"\n", text.has_bad_bytes, out.has_cut, *of_archive)
