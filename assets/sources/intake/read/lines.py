"""Turn files into numbered lines: inspect each file's bytes in one pass, then let DuckDB read the lines of a batch.

Compressed files, and files that DuckDB cannot read as they are, are first copied (`copies`). A line of a log has a few
hundred characters, and a record of JSON on one line may have millions. A file with a longer line, or with more than a
few long lines, is not a log: an archive of a hundred kilobytes can hold a line of gigabytes. Such lines are found and
cut off while a file is read in pieces, so none is ever whole in memory.
"""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import zstandard
from isal import igzip_lib, isal_zlib

from assets.sources.errors import SourceError
from assets.sources.intake.read.clean_text import NEVER_IN_LOGS, Cleaner, Cleanness, is_text
from assets.sources.reader import SAMPLE_CHARACTERS
from assets.sources.regular import open_regular, pieces, unreadable
from assets.sources.temp_tables import TempTable

CHUNK, COMPRESSED_CHUNK, UNPACKED_CHUNK = 1 << 20, 1 << 16, 1 << 18
ZSTD_PIECE = 1 << 12
"""Zstandard unpacks a whole piece at once, to as much as 32,000 times its size."""
MAX_LINE = 8 * 1024 * 1024
"""Longer lines are cut off and quarantined."""
WINDOW = 64 * 1024
"""A stretch of this size without a line end is long: DuckDB holds 2,048 lines, and copies of them, at a time."""
MAX_LONG = 16 * 1024 * 1024
"""Most bytes of all long stretches without a line end in one file."""
MARK = "\x01\x02\x03\x05"
"""Marks the end of a line that is cut off."""
MAX_BUFFER_BYTES = MAX_LINE + 1024 * 1024
_BEGINNING = 512
"""How many characters show whether a file begins as text."""


@dataclass(frozen=True)
class Content:
    """The results of one pass over a file."""

    sha256: str
    sample: str
    is_plain: bool
    """Whether DuckDB can read the file in place."""
    last_line_open: bool
    size_bytes: int | None = None
    """How many bytes were hashed, as a log may grow meanwhile; None for a compressed file."""


def is_compressed(path: Path) -> bool:
    """Return whether a file is compressed, by its name."""
    return path.suffix in {".gz", ".zst"}


DAMAGED: tuple[type[Exception], ...] = (igzip_lib.IsalError, zstandard.ZstdError)  # type: ignore[assignment]
"""Errors of unpacking a damaged archive."""
_ZSTD = type(zstandard.ZstdDecompressor().decompressobj())


def _decompressor(path: Path) -> Any:
    return isal_zlib.decompressobj(31) if path.suffix == ".gz" else zstandard.ZstdDecompressor().decompressobj()


def _unpack(unpacker: Any, packed: bytes) -> Iterator[bytes]:
    """Yield the text of a piece of an archive; small parts for gzip, which saves a third of the time (measured)."""
    if isinstance(unpacker, _ZSTD):
        text = unpacker.decompress(packed)
        yield from (text[start : start + UNPACKED_CHUNK] for start in range(0, len(text), UNPACKED_CHUNK))
        return
    text = unpacker.decompress(packed, UNPACKED_CHUNK)
    while text:
        yield text
        text = b"" if unpacker.eof else unpacker.decompress(unpacker.unconsumed_tail, UNPACKED_CHUNK)


def chunks(path: Path) -> Iterator[bytes]:
    """Yield a file's uncompressed bytes; a damaged or cut-off archive yields what it holds, then raises `EOFError`."""
    with open_regular(path) as stream:
        if not is_compressed(path):
            yield from pieces(stream, CHUNK)
            return
        unpacker, is_between = _decompressor(path), True
        for piece in pieces(stream, ZSTD_PIECE if path.suffix == ".zst" else COMPRESSED_CHUNK):
            packed = piece
            while packed:
                try:
                    yield from filter(None, _unpack(unpacker, packed))
                except DAMAGED as error:
                    raise EOFError(str(error)) from error
                packed, is_between = unpacker.unused_data, unpacker.eof
                if is_between:
                    unpacker, packed = _decompressor(path), packed.lstrip(b"\0")
        if not is_between:
            raise EOFError("the archive is cut off")


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open_regular(path) as stream:
        for piece in pieces(stream, CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def _decode_sample(head: bytes, shown: str) -> str:
    """Return the lines of text at the head of a file; refuse it if it neither begins as text nor is mostly text."""
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise SourceError(shown, "binary file (UTF-16 text)", "Convert it to UTF-8, for instance with iconv.")
    sample = b"".join(Cleaner().pieces([head])).decode()
    text = "".join(line for line in sample.splitlines(keepends=True) if is_text(line))
    if len(text) < len(sample) / 2 and not is_text(sample[:_BEGINNING]):
        raise SourceError(shown, "binary file, not a log", "Remove it from the sources folder or export it as text.")
    return text[:SAMPLE_CHARACTERS]


def inspect(path: Path, shown: str, *, may_be_empty: bool = False) -> Content:
    """Read a file once; return its hash, first characters, and whether DuckDB can read it in place.

    Raises
    ------
    SourceError
        The file is unreadable, not text, or empty without `may_be_empty`.
    """
    try:
        if is_compressed(path):
            content = Content(_sha256(path), "", is_plain=False, last_line_open=False)
            head = _head_of_compressed(path)
        else:
            head, content = _scan(path)
    except EOFError:
        raise SourceError(shown, "not an archive, or cut off before its first byte of text", "Copy it again.") from None
    except OSError as error:
        raise unreadable(shown, error) from error
    if not may_be_empty and not head.strip(b"\r\n\t \xef\xbb\xbf"):
        raise SourceError(shown, "empty file", "Export it again or remove it.")
    return replace(content, sample=_decode_sample(head, shown))


class LineLengths:
    """Measures the lines of a file; short lines only roughly."""

    def __init__(self) -> None:
        self._length, self._long = 0, 0

    @property
    def is_too_long(self) -> bool:
        """Whether the current line is too long, or one too many of the long lines."""
        return self._length > MAX_LINE or (self._long > MAX_LONG and self._length > WINDOW)

    def add(self, window: bytes) -> int:
        """Measure up to `WINDOW` bytes; return where the current line ends, which is after them if it continues."""
        begins = max(window.rfind(b"\n"), window.rfind(b"\r")) + 1
        if begins == 0:
            self._length += len(window)
            self._long += len(window) if len(window) > WINDOW - 4 or self._length > WINDOW else 0
            return len(window)
        self._length = len(window) - begins
        return _first_end(window)


def _has_long_line(lengths: LineLengths, chunk: bytes) -> bool:
    """Return whether a line that is too long ends in a chunk or continues after it."""
    for window in windows(chunk):
        lengths.add(window)
        if lengths.is_too_long:
            return True
    return False


def windows(chunk: bytes) -> Iterator[bytes]:
    """Yield a text in windows that end where a character does, as a line may be cut off after any of them."""
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


class _Head:
    """Gathers the first bytes of a file, without NULs: a power loss may leave more of them than a log has text."""

    def __init__(self) -> None:
        self.text = b""

    def add(self, chunk: bytes) -> bool:
        """Take what is still needed from a chunk, and return whether that is enough."""
        wanted = SAMPLE_CHARACTERS * 4 - len(self.text)
        if wanted > 0:
            self.text += chunk.translate(None, b"\0")[:wanted] if b"\0" in chunk else chunk[:wanted]
        return len(self.text) >= SAMPLE_CHARACTERS * 4


def _head_of_compressed(path: Path) -> bytes:
    """Return the first bytes of an archive, which may be cut off after them."""
    head = _Head()
    try:
        for chunk in chunks(path):
            if head.add(chunk):
                break
    except EOFError:
        if not head.text:
            raise
    return head.text


def _scan(path: Path) -> tuple[bytes, Content]:
    """Return the first bytes of a file, and the results of one pass over it."""
    digest, cleanness, lengths = hashlib.sha256(), Cleanness(), LineLengths()
    head, is_plain, last, size = _Head(), not set("*?[]") & set(str(path)), b"", 0
    for chunk in chunks(path):
        digest.update(chunk)
        size += len(chunk)
        head.add(chunk)
        if is_plain:
            cleanness.add(chunk)
            is_plain = not cleanness.is_unclean and not _has_long_line(lengths, chunk)
        last = chunk[-1:]
    is_plain = is_plain and cleanness.end()
    return head.text, Content(digest.hexdigest(), "", is_plain, last != b"\n", size)


_SCAN = """read_csv(
    $paths, delim = $delimiter, header = false, quote = '', escape = '', columns = {'line': 'VARCHAR'},
    auto_detect = false, strict_mode = false, null_padding = true, filename = true, max_line_size = $longest_line
)"""
_BLANK_TO_NULL = """
    case when line[1] in (' ', chr(9)) and trim(line, ' ' || chr(9)) = '' then null else line end as line
"""


READ_PATHS = TempTable("read_paths", {"file_id": "integer", "read_path": "varchar"})
NUMBERED_LINES = """
    select read_files.file_id, read_lines.rowid - read_files.first_row + 1 as line_number, read_lines.line
    from read_lines inner join read_files on read_files.filename = read_lines.filename
"""


def read_lines(con: duckdb.DuckDBPyConnection, files: dict[int, Path], copies: Iterable[tuple[int, Path]] = ()) -> None:
    """Read files into the temp view `lines(file_id, line_number, line)`.

    DuckDB keeps the order of a file list and of the lines in each file, so a running number minus that of the file's
    first line gives the line number (tested with files larger than DuckDB's parallel units). It is a view, as writing
    every line a second time costs more than numbering it wherever it is read.

    Parameters
    ----------
    con
        A connection in a batch.
    files
        Files that DuckDB reads in place, by their ids.
    copies
        Copies of other files, each read before the next is made.
    """

    def scanned(paths: Iterable[Path]) -> dict[str, Any]:
        return {"paths": [*map(str, paths)], "delimiter": NEVER_IN_LOGS, "longest_line": MAX_BUFFER_BYTES}

    con.execute("create or replace temp table read_lines (filename varchar, line varchar)")
    read = f"insert into read_lines select filename, {_BLANK_TO_NULL} from {_SCAN}"
    if files:
        con.execute(read, scanned(files.values()))
    paths = [(file_id, str(path)) for file_id, path in files.items()]
    for file_id, path in copies:
        con.execute(read, scanned([path]))
        paths.append((file_id, str(path)))
    READ_PATHS.fill(con, paths)
    # A table of its own: DuckDB knows that it is small, and streams the millions of lines on the other side.
    con.execute(
        """
        create or replace temp table read_files as
        select read_paths.file_id, first_rows.filename, first_rows.first_row
        from (select filename, min(rowid) as first_row from read_lines group by filename) as first_rows
        inner join read_paths on read_paths.read_path = first_rows.filename
        """
    )
    con.execute(f"create or replace temp view lines as {NUMBERED_LINES}")
