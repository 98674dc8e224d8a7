"""Records of JSON from text in pieces: documents, arrays or lines, in files of any size.

One record is in memory at a time. Only a damaged record is lost: reading continues at the next one that begins like the
first one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MAX_RECORD = 16 * 1024 * 1024
"""Most characters of a record; a longer one counts as damaged."""
_MAX_TOKEN = 10
"""An error this close to the end may only mean that the text so far ends within a word, number or escape."""
_OVERLAP = 4096
_SHOWN = 64 * 1024
_WITHIN_JSON = frozenset('"}]:')
"""If one of these stands between records, an earlier record was damaged."""
_ENDS_OF_DOCUMENTS = ("}", "]")
_SPACE = re.compile(r"[\s,]*")
_FIRST_KEY = re.compile(r'\{\s*("(?:[^"\\]|\\.)*"\s*:)')
_NEXT_LINE = re.compile(r"\n[ \t\r]*(?=[\[{])")
_BLANK = re.compile(r"\s*")
_KEPT_BEHIND, _SHARE_KEPT = 2048, 64
"""Characters kept in memory after they were read: at most this many, or a 64th of the text if that is more."""


@dataclass(frozen=True)
class Record:
    """One record."""

    value: Any


@dataclass(frozen=True)
class Damaged:
    """Text in place of a record: its beginning, and what is wrong."""

    text: str
    detail: str
    is_cut: bool = False
    """Whether the file ends within it."""
    has_lost_end: bool = False
    """Whether it ends a document without an end: more than the last line of a growing file is missing."""


class _CutError(Exception):
    """The text ends within a value."""


class _BadError(Exception):
    """A value is no JSON."""


def json_records(pieces: Iterator[str], *keys: str) -> Iterator[Record | Damaged]:
    r"""Yield the records of a text of JSON.

    A record is an element of the outermost array. In an outermost object it is an element of the array under one of the
    keys, if there is one, else the object itself. The text may have several of these, with lines of other text between
    them.

    >>> [record.value for record in json_records(iter(['{"meta": {}, "jobs": [{"a": 1}, ', '{"a": 2}]}']), "jobs")]
    [{'a': 1}, {'a': 2}]
    >>> [record.value for record in json_records(iter(['{"a": 1}\n[{"a": 2}]\n']), "jobs")]
    [{'a': 1}, {'a': 2}]
    """
    yield from _Scanner(pieces, frozenset(keys)).records()


class _Scanner:
    def __init__(self, pieces: Iterator[str], keys: frozenset[str]) -> None:
        self._pieces, self._keys = pieces, keys
        self._text, self._at, self._dropped = "", 0, 0
        self._decode = json.JSONDecoder().raw_decode
        self._beginning: re.Pattern[str] | None = None
        self._is_at_end = False
        self._has_whole_value, self._is_within_document = False, False

    def records(self) -> Iterator[Record | Damaged]:
        while (letter := self._next_letter()) is not None:
            self._is_within_document = False
            try:
                if letter == "[":
                    self._at += 1
                    yield from self._elements()
                    self._has_whole_value = True
                elif letter == "{":
                    yield from self._object()
                    self._has_whole_value = True
                elif letter in _WITHIN_JSON and self._beginning is not None:
                    yield self._damaged("no JSON")
                else:
                    yield self._line()
            except _CutError:
                if not self._is_at_end:
                    yield self._rest()
            except _BadError as error:
                yield self._damaged(str(error))

    def _object(self) -> Iterator[Record | Damaged]:
        """Read an object at once if the text so far holds all of it; else by key, as one key may hold all records."""
        try:
            value, end = self._decode(self._text, self._at)
        except (ValueError, RecursionError):
            yield from self._document()
            return
        self._at = end
        found = [key for key in value if key in self._keys and isinstance(value[key], list)]
        yield from (Record(element) for key in found for element in value[key])
        if not found:
            yield Record(value)

    def _document(self) -> Iterator[Record | Damaged]:
        begins, had_records = self._dropped + self._at, False
        document: dict[str, Any] = {}
        self._at += 1
        while (letter := self._next_letter()) not in {"}", None}:
            name = self._value()
            if not isinstance(name, str) or self._next_letter() != ":":
                raise _BadError("no JSON: a key and a colon should be here")
            self._at += 1
            if self._next_letter() == "[" and name in self._keys:
                self._at += 1
                had_records = True
                yield from self._elements()
            else:
                document[name] = self._value()
            if not had_records and self._dropped + self._at - begins > MAX_RECORD:
                raise _BadError(f"an object of more than {MAX_RECORD:,} characters")
        if letter is None:
            raise _CutError
        self._at += 1
        if not had_records:
            yield Record(document)

    def _elements(self) -> Iterator[Record | Damaged]:
        # Programs that append to a file write one value per line, even an array; a document is alone or has many lines.
        self._is_within_document = self._is_within_document or not self._has_whole_value
        while (letter := self._next_letter()) not in {"]", None}:
            self._note_beginning()
            try:
                value = self._value()
            except _BadError as error:
                yield self._damaged(str(error))
            except _CutError:
                if self._beginning is None or not self._beginning.search(self._text, self._at + 1):
                    raise
                yield self._damaged("no JSON: it never ends")
            else:
                yield Record(value)
        if letter is None:
            raise _CutError
        self._at += 1

    def _next_letter(self) -> str | None:
        """Go to the next character that is not a space or comma, and return it; None at the end of the text."""
        has_break = False
        if self._at > max(_KEPT_BEHIND, len(self._text) // _SHARE_KEPT):
            self._drop()
        while True:
            space = _SPACE.match(self._text, self._at)
            if space:
                has_break = has_break or "\n" in space[0]
                self._at = space.end()
            if self._at < len(self._text):
                self._is_within_document = self._is_within_document or has_break
                return self._text[self._at]
            if not self._read():
                return None

    def _read(self) -> bool:
        """Add a piece to the text, and drop what was read."""
        piece = next(self._pieces, None)
        if piece is None:
            return False
        self._drop()
        self._text += piece
        return True

    def _drop(self) -> None:
        self._dropped += self._at
        self._text, self._at = self._text[self._at :], 0

    def _value(self) -> Any:
        """Read one value."""
        while True:
            try:
                value, end = self._decode(self._text, self._at)
            except json.JSONDecodeError as error:
                is_begun = error.msg.startswith("Unterminated")
                is_begun = is_begun or _BLANK.fullmatch(self._text, error.pos + _MAX_TOKEN) is not None
                if not is_begun or len(self._text) - self._at > MAX_RECORD:
                    raise _BadError(f"no JSON: {error.msg}") from None
                if not self._read():
                    raise _CutError from None
            except RecursionError:
                raise _BadError("no JSON: nested too deep") from None
            except ValueError:
                raise _BadError("no JSON: a number of thousands of digits") from None
            else:
                # A number at the end of the text so far may continue.
                if end < len(self._text) or not self._read():
                    self._at = end
                    return value

    def _note_beginning(self) -> None:
        """Remember how the first record begins: its first key, and the bracket or comma before it."""
        if self._beginning is None and (first := _FIRST_KEY.match(self._text, self._at)):
            self._beginning = re.compile(rf"[,\[]\s*(?=\{{\s*{re.escape(first[1])})")

    def _damaged(self, detail: str) -> Damaged:
        """Take the text before the next record that begins like the first one."""
        beginning, shown = self._beginning or _NEXT_LINE, ""
        self._at += 1
        begins = self._at - 1
        while not (found := beginning.search(self._text, self._at)):
            self._at = max(self._at, len(self._text) - _OVERLAP)
            shown = (shown + self._text[begins : self._at])[:_SHOWN]
            if not self._read():
                self._is_at_end = True
                rest = self._take(len(self._text))
                has_end = (rest.strip() or shown.rstrip()).endswith(_ENDS_OF_DOCUMENTS)
                lost = self._is_within_document and not has_end
                return Damaged(f"{shown}{rest}"[:_SHOWN], detail, has_lost_end=lost)
            begins = 0
        shown += self._text[begins : found.start()]
        self._at = found.end()
        return Damaged(shown[:_SHOWN], detail)

    def _rest(self) -> Damaged:
        text = self._take(len(self._text))[:_SHOWN]
        text = text if text.strip() else "(end of the file)"
        return Damaged(text, "the file ends within a record", is_cut=True, has_lost_end=self._is_within_document)

    def _line(self) -> Damaged:
        """Take a line that is not JSON."""
        while (end := self._text.find("\n", self._at)) < 0 and len(self._text) - self._at < MAX_RECORD:
            if not self._read():
                break
        return Damaged(self._take(end if end >= 0 else len(self._text))[:_SHOWN], "no JSON")

    def _take(self, end: int) -> str:
        text = self._text[self._at : end]
        self._at = end
        return text
