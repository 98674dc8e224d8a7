"""Translate files of other programs' forms into the lines that a reader reads, one record per line.

The account (`lines_in` and line numbers) refers to the lines of the new file. Nothing is left out of it: a record that
cannot become a line of the reader's form stays as it was, and is set aside.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from assets.sources.intake.read.copies import Copy, CuttingWriter, UnpackedText
from assets.sources.other_forms import SetAside, Translation
from assets.sources.reader import SourceFile
from assets.sources.settings import ClusterSettings

_ENDS = frozenset({b"\n", b"}", b"]"})
"""A document of JSON is complete without a line end after it."""
_LINE_BREAKS = re.compile(r"[\r\n]+")


@dataclass(frozen=True)
class Translated:
    """The new file, and its lines that are withheld from the reader: number, reason, detail."""

    copy: Copy
    aside: list[tuple[int, str, str | None]] = field(default_factory=list)


def _characters(pieces: Iterator[bytes]) -> Iterator[str]:
    """Yield clean text as characters; a piece of bytes may end within one."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for piece in pieces:
        yield decoder.decode(piece)


def write_translated(file: SourceFile, cluster: ClusterSettings, translation: Translation, target: Path) -> Translated:
    """Write a file as the lines of the reader's form.

    Raises
    ------
    SourceError
        The file cannot be translated at all.
    """
    text, aside, has_lost_end = UnpackedText(file.absolute), [], False
    with target.open("wb") as stream:
        out = CuttingWriter(stream)
        for number, record in enumerate(translation.translate(_characters(text.pieces()), file, cluster), start=1):
            line = record.text if isinstance(record, SetAside) else record
            if isinstance(record, SetAside):
                aside.append((number, record.reason, record.detail))
                has_lost_end = has_lost_end or record.has_lost_end
            # JSON may escape a lone half of a character, which UTF-8 cannot encode.
            out.write(_LINE_BREAKS.sub(" ", line).encode("utf-8", errors="replace") + b"\n")
    copy = Copy(
        target,
        is_cut=text.is_cut or has_lost_end,
        last_line_open=text.is_cut or text.last not in _ENDS,
        has_bad_bytes=text.has_bad_bytes,
        has_cut_lines=out.has_cut,
    )
    return Translated(copy, aside)
