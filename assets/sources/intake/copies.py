"""Copies of files that DuckDB cannot read where they are: archives unpacked, and text made clean UTF-8."""

from __future__ import annotations

import codecs
from pathlib import Path

from assets.sources.intake.lines import NEVER_IN_LOGS, REPLACEMENT, chunks, decode, holds
from assets.sources.intake.long_lines import CuttingWriter
from assets.sources.intake.object_lines import ObjectLines
from assets.sources.reader import Copy

MAX_UNPACKED, MAX_UNPACKED_RATIO = 4 * 1024**3, 500
"""An archive that holds more than both is read so far, and as one that is cut off: logs are packed to a tenth."""


class CopiesInFolder:
    """The clean copies of a batch's files, by file id. Each is written when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        """Keep them in a folder that lies where there is room for data."""
        self.folder = folder
        self.written: dict[int, Copy] = {}

    def copy_of(self, file_id: int, file: Path) -> Copy:
        """Return the copy of a file, written again if it was removed."""
        copy = self.written.get(file_id)
        if copy is None or not copy.path.exists():
            copy = self.written[file_id] = write_copy(file, self.folder / f"{file_id}.txt")
        return copy


def write_copy(path: Path, target: Path) -> Copy:
    """Write a file's text as UTF-8 that DuckDB can read, undecodable bytes and NULs replaced.

    Bytes that are clean, by far the most, are written as they came.
    """
    is_cut, has_bad_bytes, last, held = False, False, b"", b""
    size, written = path.stat().st_size, 0
    with target.open("wb") as file:
        out = CuttingWriter(file)

        def write(text: bytes) -> None:
            nonlocal has_bad_bytes
            if _is_clean(text):
                out.write(text)
                return
            clean = text.decode("utf-8", errors="replace").replace("\0", REPLACEMENT)
            clean = clean.replace(NEVER_IN_LOGS, REPLACEMENT)
            has_bad_bytes = has_bad_bytes or REPLACEMENT in clean
            out.write(clean.encode())

        try:
            for chunk in chunks(path):
                written += len(chunk)
                if written > MAX_UNPACKED and written > MAX_UNPACKED_RATIO * size:
                    raise EOFError("the archive holds more than any log does")
                last = chunk[-1:] or last
                text = held + chunk
                # What the next chunk may turn into something else waits: half a character, half a delimiter.
                ready = len(text) - max(_character_begun(text), _delimiter_begun(text))
                write(text[:ready])
                held = text[ready:]
        except EOFError:
            is_cut = True
        write(held)
    return Copy(target, is_cut, last != b"\n", has_bad_bytes, out.has_cut)


def unpack_object_lines(path: Path, target: Path) -> int | None:
    """Write the text of an archive of JSON objects, and count its lines; None when it is anything else.

    DuckDB would take on trust that the archive is whole, and text. None is given as well for one that is cut off or
    damaged, and for bytes that `write_copy` replaces.
    """
    decoder, objects = codecs.getincrementaldecoder("utf-8")(), ObjectLines()
    delimiter, last = NEVER_IN_LOGS.encode(), b""
    try:
        with target.open("wb") as out:
            for chunk in chunks(path):
                objects.add(chunk)
                is_replaced = b"\0" in chunk or holds(last + chunk, delimiter)
                if objects.is_odd or is_replaced or REPLACEMENT in decode(decoder, chunk):
                    return None
                out.write(chunk)
                last = chunk[1 - len(delimiter) :]
        decoder.decode(b"", final=True)
    except (EOFError, OSError, UnicodeDecodeError):
        return None
    return objects.count


def _is_clean(text: bytes) -> bool:
    """Tell whether DuckDB may see a text as it is."""
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError:
            return False
    return b"\0" not in text and not holds(text, NEVER_IN_LOGS.encode()) and not holds(text, REPLACEMENT.encode())


def _character_begun(text: bytes) -> int:
    """Count the bytes at the end of a text that begin a character of more bytes."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    decoder.decode(text[-3:])
    return len(decoder.getstate()[0])


def _delimiter_begun(text: bytes) -> int:
    """Count the bytes at the end of a text with which the delimiter may begin."""
    delimiter = NEVER_IN_LOGS.encode()
    return next((length for length in range(len(delimiter) - 1, 0, -1) if text.endswith(delimiter[:length])), 0)
