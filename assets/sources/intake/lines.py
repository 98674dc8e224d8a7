"""Files to numbered lines: one streaming look at a file's bytes, then DuckDB reads whole batches at disk speed.

Compressed files, and files whose bytes DuckDB must not see as they are, are first written out (`copies`).
"""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import zstandard
from isal import igzip_lib, isal_zlib

from assets.sources.errors import SourceError
from assets.sources.intake.long_lines import MAX_LINE, LineLengths, has_long_line
from assets.sources.intake.object_lines import ObjectLines
from assets.sources.reader import SAMPLE_CHARACTERS
from assets.sources.regular import open_regular, pieces, unreadable
from assets.sources.sql.temp_tables import TempTable

CHUNK, COMPRESSED_CHUNK, UNPACKED_CHUNK = 1 << 20, 1 << 16, 1 << 18
ZSTD_PIECE = 1 << 12
"""Zstandard gives all that a piece holds at once, which may be 32,000 times as much."""
NEVER_IN_LOGS = "\x01\x02\x03\x04"
"""Column delimiter for DuckDB's reader; a file that holds it is copied without it."""
ODD_CONTROLS = bytes(byte for byte in range(1, 32) if byte not in b"\t\n\v\f\r\x1b\x1f")
"""What a text file hardly holds."""
MAX_BUFFER_BYTES = MAX_LINE + 1024 * 1024
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True)
class Content:
    """What one streaming pass over a file found."""

    sha256: str
    sample: str
    is_plain: bool
    """DuckDB can read the file where it is."""
    last_line_open: bool
    object_lines: int | None = None
    """Lines of a plain file of JSON objects, one a line from its first byte on; None for any other file."""
    size_bytes: int | None = None
    """How many bytes the hash is of, as a log may grow meanwhile; None for a compressed file."""


def is_compressed(path: Path) -> bool:
    """Tell by the name whether the file is compressed."""
    return path.suffix in {".gz", ".zst"}


DAMAGED: tuple[type[Exception], ...] = (igzip_lib.IsalError, zstandard.ZstdError)  # type: ignore[assignment]
"""What unpacking a damaged archive raises."""
_ZSTD = type(zstandard.ZstdDecompressor().decompressobj())


def _decompressor(path: Path) -> Any:
    return isal_zlib.decompressobj(31) if path.suffix == ".gz" else zstandard.ZstdDecompressor().decompressobj()


def _unpack(unpacker: Any, packed: bytes) -> Iterator[bytes]:
    """Yield what a piece of an archive holds; gzip's a little at a time, which saves a third of the time (measured)."""
    if isinstance(unpacker, _ZSTD):
        text = unpacker.decompress(packed)
        yield from (text[start : start + UNPACKED_CHUNK] for start in range(0, len(text), UNPACKED_CHUNK))
        return
    text = unpacker.decompress(packed, UNPACKED_CHUNK)
    while text:
        yield text
        text = b"" if unpacker.eof else unpacker.decompress(unpacker.unconsumed_tail, UNPACKED_CHUNK)


def chunks(path: Path) -> Iterator[bytes]:
    """Yield a file's uncompressed bytes; an archive that is cut off or damaged gives what it holds, then `EOFError`."""
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


def decode(decoder: codecs.IncrementalDecoder, chunk: bytes) -> str:
    """Return the text of a chunk, or nothing where it is ASCII alone, as logs mostly are: told five times as fast.

    Raises
    ------
    UnicodeDecodeError
        The bytes are no UTF-8, together with those of the last chunk that waited for more.
    """
    return "" if chunk.isascii() and not decoder.getstate()[0] else decoder.decode(chunk)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open_regular(path) as stream:
        for piece in pieces(stream, CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def _decode_sample(head: bytes, shown: str) -> str:
    """Decode the head of a file, refusing what is not text."""
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise SourceError(shown, "binary file (UTF-16 text)", "Convert it to UTF-8, for instance with iconv.")
    sample = head.decode("utf-8", errors="replace").removeprefix("\ufeff")
    odd = len(head) - len(head.translate(None, ODD_CONTROLS)) + sample.count(REPLACEMENT)
    nuls = head.count(0)
    # Blocks of NULs are what a power loss leaves in a log; a binary format shows in its other bytes.
    if odd > (len(head) - nuls) * (0.1 if nuls else 0.3) or nuls > len(head) / 2:
        raise SourceError(shown, "binary file, not a log", "Remove it from the sources folder or export it as text.")
    return sample[:SAMPLE_CHARACTERS]


def inspect(path: Path, shown: str) -> Content:
    """Read a file once: hash, first characters, and whether DuckDB can read it in place.

    Raises
    ------
    SourceError
        The file is unreadable, empty, or no text.
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
    if not head.strip(b"\r\n\t \xef\xbb\xbf"):
        raise SourceError(shown, "empty file", "Export it again or remove it.")
    return replace(content, sample=_decode_sample(head, shown))


def _head_of_compressed(path: Path) -> bytes:
    """Return the first bytes; what a cut-off archive still holds counts."""
    head = b""
    try:
        for chunk in chunks(path):
            head += chunk
            if len(head) >= SAMPLE_CHARACTERS * 4:
                break
    except EOFError:
        if not head:
            raise
    return head[: SAMPLE_CHARACTERS * 4]


def _scan(path: Path) -> tuple[bytes, Content]:
    """Return the first bytes of a file, and what all of them say."""
    digest, decoder, objects = hashlib.sha256(), codecs.getincrementaldecoder("utf-8")(), ObjectLines()
    lengths = LineLengths()
    head, tail, is_plain, last, size = b"", b"", not set("*?[]") & set(str(path)), b"", 0
    delimiter = NEVER_IN_LOGS.encode()
    for chunk in chunks(path):
        digest.update(chunk)
        size += len(chunk)
        if len(head) < SAMPLE_CHARACTERS * 4:
            head += chunk[: SAMPLE_CHARACTERS * 4 - len(head)]
        if is_plain:
            try:
                decode(decoder, chunk)
            except UnicodeDecodeError:
                is_plain = False
            is_plain = is_plain and b"\0" not in chunk and not holds(chunk, delimiter)
            is_plain = is_plain and delimiter not in tail + chunk[: len(delimiter)]
            tail = chunk[-len(delimiter) :]
            objects.add(chunk)
            is_plain = is_plain and not has_long_line(lengths, chunk)
        last = chunk[-1:]
    if is_plain:
        try:
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            is_plain = False
    lines = objects.count if is_plain else None
    return head, Content(digest.hexdigest(), "", is_plain, last != b"\n", lines, size)


def holds(text: bytes, sought: bytes) -> bool:
    """Look for a rare sequence; for its first byte alone, as that takes a tenth of the time."""
    return sought[:1] in text and sought in text


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


def read_lines(con: duckdb.DuckDBPyConnection, files: dict[int, Path]) -> None:
    """Read files into the temp view `lines(file_id, line_number, line)`.

    DuckDB keeps the order of a file list and of the lines in it, so a running number minus the number of each file's
    first line is the line number (checked in tests with files larger than DuckDB's parallel units). It is a view, as
    writing every line a second time costs more than numbering it wherever it is read.
    """
    scan = {
        "paths": [str(path) for path in files.values()],
        "delimiter": NEVER_IN_LOGS,
        "longest_line": MAX_BUFFER_BYTES,
    }
    if files:
        con.execute(f"create or replace temp table read_lines as select filename, {_BLANK_TO_NULL} from {_SCAN}", scan)
    else:
        con.execute("create or replace temp table read_lines (filename varchar, line varchar)")
    READ_PATHS.fill(con, [(file_id, str(path)) for file_id, path in files.items()])
    # A table of its own: DuckDB knows how small it is, and puts the millions of lines on the other side of the join.
    con.execute(
        """
        create or replace temp table read_files as
        select read_paths.file_id, first_rows.filename, first_rows.first_row
        from (select filename, min(rowid) as first_row from read_lines group by filename) as first_rows
        inner join read_paths on read_paths.read_path = first_rows.filename
        """
    )
    con.execute(f"create or replace temp view lines as {NUMBERED_LINES}")
