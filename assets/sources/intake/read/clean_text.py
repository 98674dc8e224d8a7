"""Turn the bytes of a file into clean text: bytes that are not text are removed or marked.

A power loss leaves blocks of NULs in a log. Programs write byte order marks and escape sequences of terminals, which
are invisible. All of these are removed. Bytes that are not UTF-8 become `REPLACEMENT`. A line with too many characters
that text does not have is not text, such as a piece of an archive that was appended to a log.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator

NEVER_IN_LOGS = "\x01\x02\x03\x04"
"""Column delimiter for DuckDB's reader of lines."""
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

BAD_BYTES = "bad_encoding"
"""Warning in `ops.files.warnings` on files with bytes that are not UTF-8, or NULs."""

_DELIMITER, _REPLACED = NEVER_IN_LOGS.encode(), REPLACEMENT.encode()
ODD = r"\x01-\x08\x0e-\x1a\x1c-\x1e\x7f\x{FFFD}"
"""Characters that are rare in text files, in the syntax of RE2."""
_ODD_CHARACTERS = re.compile(f"[{ODD.replace('x{FFFD}', 'ufffd')}]")
MAX_ODD_SHARE = 0.3
SHORT_LINE = 16
"""Between two lines that are not text, a line of fewer characters is not text either."""

_MAX_ESCAPE = 256
_INVISIBLE = re.compile(
    r"\ufeff|\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\r\n]{0,200}(?:\x07|\x1b\\)|[()*+][0-9A-Z]|[=>78])?"
)
_NULS = re.compile(r"\0+")
_NULS_OF_A_LINE = re.compile(r"(?<![^\r\n])\0(?![^\r\n])")
# NULs cut off the record that was being written, and the next record begins after them.
_NULS_BEFORE_A_RECORD = re.compile(
    r"(?<=[^\r\n\0])\0(?=(?:<\d{1,3}>)?"
    r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d|\d{4}-\d\d-\d\d[T ]\d\d:|\[ *\d+[.-]\d|\[[A-Z][a-z]{2} |\{\s*\"))"
)
_MAX_BEGINNING = 32
"""How many characters after a NUL show whether a record begins there."""
_LITTLE = 4096
"""Bytes that are cleaned together: running patterns over a whole log for a few lines takes long."""


class Cleanness:
    """Checks whether the bytes of a file, given in pieces, are clean text.

    A byte order mark at the very beginning is allowed: DuckDB skips it.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._tail, self._is_first = b"", True
        self.is_unclean = False

    def add(self, piece: bytes) -> None:
        """Check the next bytes."""
        if self.is_unclean:
            return
        try:
            # Most logs are pure ASCII, which is five times as fast to check.
            is_ascii = piece.isascii() and not self._decoder.getstate()[0]
            text = "" if is_ascii else self._decoder.decode(piece)
        except UnicodeDecodeError:
            self.is_unclean = True
            return
        self.is_unclean = b"\0" in piece or b"\x1b" in piece or _holds(piece, _DELIMITER)
        self.is_unclean |= _DELIMITER in self._tail + piece[: len(_DELIMITER)]
        if text:
            self.is_unclean |= REPLACEMENT in text or "\ufeff" in (text[1:] if self._is_first else text)
            self._is_first = False
        elif is_ascii:
            self._is_first = False
        self._tail = (self._tail + piece[1 - len(_DELIMITER) :])[1 - len(_DELIMITER) :]

    def end(self) -> bool:
        """Return whether all of the text was clean."""
        return not self.is_unclean and not self._decoder.getstate()[0]


def _is_clean(text: bytes) -> bool:
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError:
            return False
        if _holds(text, _REPLACED) or _holds(text, codecs.BOM_UTF8):
            return False
    return b"\0" not in text and b"\x1b" not in text and not _holds(text, _DELIMITER)


def _holds(text: bytes, sought: bytes) -> bool:
    """Return whether a text holds a rare sequence; looking for its first byte first takes a tenth of the time."""
    return sought[:1] in text and sought in text


class Cleaner:
    """Cleans the text of a file that comes in pieces; clean pieces, which are the most, are passed on."""

    def __init__(self) -> None:
        self._held, self._undecided, self._last = b"", "", ""
        self.has_bad_bytes = False
        """Whether the pieces had bytes that are not UTF-8, or NULs."""

    def pieces(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the clean text of a file; an `EOFError` at the end of the chunks is raised after their text."""
        try:
            for chunk in chunks:
                text = self._held + chunk
                # Text whose meaning depends on the next chunk waits.
                ready = len(text) - _begun(text)
                yield b"".join(self._clean(text[:ready]))
                self._held = text[ready:]
        except EOFError:
            yield self._clean_end()
            raise
        yield self._clean_end()

    def _clean(self, text: bytes) -> Iterator[bytes]:
        """Yield the clean text; text that is not clean is halved at line ends, so that only small parts are cleaned."""
        if not self._undecided and _is_clean(text):
            yield self._noted(text)
            return
        middle = text.find(b"\n", len(text) // 2) + 1 if len(text) > _LITTLE else 0
        if 0 < middle < len(text):
            yield from self._clean(text[:middle])
            yield from self._clean(text[middle:])
        else:
            yield self._noted(self._cleaned(text, is_last=False))

    def _clean_end(self) -> bytes:
        return self._noted(self._cleaned(self._held, is_last=True))

    def _noted(self, text: bytes) -> bytes:
        self._last = chr(text[-1]) if text else self._last
        return text

    def _cleaned(self, raw: bytes, *, is_last: bool) -> bytes:
        text = raw.decode("utf-8", errors="replace")
        seen = _INVISIBLE.sub("", text.replace(NEVER_IN_LOGS, REPLACEMENT))
        self.has_bad_bytes = self.has_bad_bytes or "\0" in seen or REPLACEMENT in seen
        # One NUL stands for a run of any length.
        seen = _NULS.sub("\0", self._undecided + seen)
        undecided = -1 if is_last else seen.find("\0", max(0, len(seen) - _MAX_BEGINNING))
        seen, self._undecided = (seen, "") if undecided < 0 else (seen[:undecided], seen[undecided:])
        # The meaning of a NUL depends on whether it is at the beginning of a line.
        before = "" if self._last in {"", "\n", "\r"} else "."
        marked = _NULS_BEFORE_A_RECORD.sub("\n", _NULS_OF_A_LINE.sub(REPLACEMENT, before + seen))
        return marked.replace("\0", "").removeprefix(before).encode()


def _begun(text: bytes) -> int:
    """Return how many bytes at the end of a text begin a character, a delimiter or an escape sequence."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    decoder.decode(text[-3:])
    waiting = len(decoder.getstate()[0])
    waiting = max(waiting, next((n for n in range(len(_DELIMITER) - 1, 0, -1) if text.endswith(_DELIMITER[:n])), 0))
    escape = text.find(b"\x1b", max(0, len(text) - _MAX_ESCAPE))
    return max(waiting, len(text) - escape if escape >= 0 else 0)


def is_text(line: str) -> bool:
    r"""Return whether a line is text, by the rule of `aside_lines.sql`.

    >>> is_text("caf\ufffd|1|COMPLETED"), is_text("\ufffd\x03\x04k\ufffd")
    (True, False)
    """
    return len(_ODD_CHARACTERS.findall(line)) <= MAX_ODD_SHARE * len(line)
