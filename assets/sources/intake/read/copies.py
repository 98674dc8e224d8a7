"""Copies of files that DuckDB cannot read where they are: archives unpacked, and text made clean UTF-8."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from assets.sources.intake.read.clean_text import Cleaner, Cleanness
from assets.sources.intake.read.lines import MARK, LineLengths, chunks, is_compressed, windows
from assets.sources.intake.read.object_lines import ObjectLines
from assets.sources.reader import Copy, SourceFile

MAX_UNPACKED, MAX_UNPACKED_RATIO = 4 * 1024**3, 500
"""An archive that holds more than both is read so far, and as one that is cut off: logs are packed to a tenth."""


class CopiesInFolder:
    """The clean copies of a batch's files, by file id. Each is written when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        """Keep them in a folder that lies where there is room for data."""
        self.folder = folder
        self.written: dict[int, Copy] = {}
        self.unpacked: dict[int, Unpacked] = {}
        """The content of archives."""

    def copy_of(self, file_id: int, file: Path) -> Copy:
        """Return the copy of a file, written again if it was removed."""
        copy = self.written.get(file_id)
        if copy is None or not copy.path.exists():
            copy = self.written[file_id] = write_copy(file, self.folder / f"{file_id}.txt", self._text(file_id, file))
        return copy

    def readable(self, file_id: int, file: SourceFile) -> Path | None:
        """Return where DuckDB can read a whole file: where it is, or its copy; None if anything of it is cut off."""
        if file.is_plain:
            return file.absolute
        copy = self.copy_of(file_id, file.absolute)
        return None if copy.is_cut or copy.has_cut_lines else copy.path

    def object_lines_of(self, file_id: int, file: Path, target: Path) -> int | None:
        """Write the text of an archive of JSON objects, and return its number of lines; None if it is anything else."""
        return _unpack_object_lines(self._text(file_id, file), target)

    def _text(self, file_id: int, file: Path) -> Iterator[bytes]:
        if not is_compressed(file):
            return chunks(file)
        self.unpacked[file_id] = Unpacked()
        return self.unpacked[file_id].note(chunks(file))


@dataclass
class Unpacked:
    """The hash and the size of what an archive holds."""

    sha256: str = ""
    size_bytes: int = 0

    def note(self, text: Iterator[bytes]) -> Iterator[bytes]:
        """Pass on a text in pieces, and record its hash and size when it ends or is cut off."""
        digest, self.size_bytes = hashlib.sha256(), 0
        try:
            for piece in text:
                digest.update(piece)
                self.size_bytes += len(piece)
                yield piece
        finally:
            self.sha256 = digest.hexdigest()


class CuttingWriter:
    """Writes text to a file; of a line that is too long only the beginning, and a mark."""

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
    """The clean text of a file in pieces, and what was wrong with its bytes."""

    def __init__(self, path: Path, text: Iterator[bytes] | None = None) -> None:
        self._size, self._cleaner = path.stat().st_size, Cleaner()
        self._text = chunks(path) if text is None else text
        self.is_cut, self.last = False, b""
        """The end of the archive is missing; the last byte of the text."""

    @property
    def has_bad_bytes(self) -> bool:
        """Whether there were bytes that are no UTF-8, or NULs."""
        return self._cleaner.has_bad_bytes

    def pieces(self) -> Iterator[bytes]:
        """Yield the text; of an archive that is cut off or too large, its beginning."""
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


def write_copy(path: Path, target: Path, unpacked: Iterator[bytes] | None = None) -> Copy:
    """Write a file's text as UTF-8 that DuckDB can read, without what is no text."""
    text = UnpackedText(path, unpacked)
    with target.open("wb") as file:
        out = CuttingWriter(file)
        for piece in text.pieces():
            out.write(piece)
    return Copy(target, text.is_cut, text.last != b"\n", text.has_bad_bytes, out.has_cut)


def _unpack_object_lines(text: Iterator[bytes], target: Path) -> int | None:
    """Write the text of an archive of JSON objects, and count its lines.

    DuckDB would take on trust that the archive is whole, and text. None is given as well for one that is cut off or
    damaged, and for text that `write_copy` cleans.
    """
    cleanness, objects = Cleanness(), ObjectLines()
    try:
        with target.open("wb") as out:
            for chunk in text:
                objects.add(chunk)
                cleanness.add(chunk)
                if objects.is_odd or cleanness.is_unclean:
                    return None
                out.write(chunk)
    except (EOFError, OSError):
        return None
    return objects.count if cleanness.end() else None
