r"""All output goes through this module: to a terminal, a pipe or a file.

Job names, file names, keys and error texts come from users and machines. Control characters and invisible characters
are printed as visible escapes such as `\x1b`. A test forbids `print` and streams in the other modules.
"""

from __future__ import annotations

import json
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any, TextIO

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from orchestration.terminal.values import plain

__all__ = [
    "console",
    "ending_with_the_reader",
    "json_text",
    "print_table",
    "redirect_other_output",
    "say",
    "say_json",
    "say_lines",
    "silence",
    "streams",
    "visible",
    "write",
]

_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""Letters or marks in Unicode that are drawn as nothing."""
_JSON_HIDDEN = re.compile(r"[^\x20-\x7e]")
STDERR = 2


def visible(text: str, keep: str = "") -> str:
    r"""Return a text with a visible escape for every control character and every invisible character.

    These are control characters (C0, C1), escape sequences, marks of writing direction, zero-width and other invisible
    characters, private and unassigned ones, lone surrogates, and line separators. Spaces of any width stay.

    >>> print(visible("a\x1b[2Jb\u202ec\nd"))
    a\x1b[2Jb\u202ec\nd
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if character in keep or _is_seen(character) else _escape(character) for character in text)


def _is_seen(character: str) -> bool:
    if character in _BLANK_LETTERS:
        return False
    # Variation selectors are invisible marks.
    if "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef":
        return False
    return character.isprintable() or unicodedata.category(character) == "Zs"


def _escape(character: str) -> str:
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class _VisibleConsole(Console):
    """A console of rich that applies only its own styles; control characters in texts become visible escapes.

    Attributes
    ----------
    is_optional
        The work continues if the stream cannot be written, for instance because its disk is full.
    problem
        Why an optional console is silent.
    """

    is_optional = False
    problem: str | None = None

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as rich does, each text on one line; an optional console is silent after its stream's first error."""
        try:
            super().print(*(visible(object) if isinstance(object, str) else object for object in objects), **options)
        except OSError as error:
            if not self.is_optional:
                raise
            self.quiet = True
            self.problem = error.strerror
            silence(self.file)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Render as rich does. Control segments are rich's own; all other text goes through `visible`."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(visible(segment.text, keep="\n"), segment.style)

    def on_broken_pipe(self) -> None:
        """Continue without printing: a refresh does not fail because its output is not read."""
        self.quiet = True
        silence(self.file)


def console(out: TextIO | None = None, *, is_error: bool = False, is_optional: bool = False) -> _VisibleConsole:
    """Return a console without markup, emoji codes, highlighting or wrapping.

    Parameters
    ----------
    out
        Where to write, by default stdout.
    is_error
        Write to stderr.
    is_optional
        The text is not the answer of the command: if it cannot be written, the work continues, and `problem` says why.
        Text on stderr is always optional.
    """
    # Look up the stream at each call: a refresh redirects sys.stdout.
    stream = out or (sys.stderr if is_error else sys.stdout)
    made = _VisibleConsole(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True, tab_size=1)
    made.is_optional = is_optional or is_error
    return made


def say_lines(lines: Iterable[str | Text], *, is_error: bool = False) -> None:
    """Print lines for people; a line break inside a line is printed as an escape."""
    to = console(is_error=is_error)
    for line in lines:
        to.print(line)


def say(text: str, *, is_error: bool = False) -> None:
    """Print a text for people, which may have several lines."""
    say_lines(text.split("\n"), is_error=is_error)


def say_json(value: Any, indent: int | None = None) -> None:
    """Print a value as one JSON document."""
    write(json_text(value, indent) + "\n")


def json_text(value: Any, indent: int | None = None) -> str:
    r"""Return JSON that is safe on a terminal: invisible characters as `\u`, NaN and infinity as null.

    >>> print(json_text({"name": "é\x9b\u202e"}))
    {"name": "é\u009b\u202e"}
    """
    text = json.dumps(plain(value), indent=indent, ensure_ascii=False, allow_nan=False)
    return _JSON_HIDDEN.sub(_json_escape, text) if not (text.isascii() and text.isprintable()) else text


def _json_escape(match: re.Match[str]) -> str:
    character = match.group()
    if character == "\n" or _is_seen(character):
        return character
    return json.dumps(character)[1:-1] if character != "\x7f" else "\\u007f"


def write(text: str, out: TextIO | None = None) -> None:
    """Write text for programs that `json_text` or `query` has made safe; exit if the pipe is closed."""
    with ending_with_the_reader():
        (out or sys.stdout).write(text)


def print_table(
    names: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = (), out: TextIO | None = None
) -> None:
    """Print a table without frames; on a pipe, nothing is cut to the width of a screen."""
    to = console(out)
    shown = [[visible(cell) for cell in row] for row in (names, *rows)]
    if not to.is_terminal:
        _write_columns(shown, right, out or sys.stdout)
        return
    to.soft_wrap = False
    table = Table(box=None, pad_edge=False, header_style="bold")
    for at, name in enumerate(shown[0]):
        table.add_column(Text(name), justify="right" if at in right else "left", overflow="fold")
    for row in shown[1:]:
        table.add_row(*map(Text, row))
    to.print(table)


def _write_columns(rows: Sequence[Sequence[str]], right: Sequence[int], out: TextIO) -> None:
    """Write rows like a table of rich without wrapping; rich takes a quarter of a second for a thousand rows."""
    columns = list(zip(*rows, strict=True))
    widths = [[cell_len(cell) for cell in column] for column in columns]
    for at, (column, of_cells) in enumerate(zip(columns, widths, strict=True)):
        pads = [" " * (max(of_cells) - width) for width in of_cells]
        columns[at] = tuple(pad + cell if at in right else cell + pad for cell, pad in zip(column, pads, strict=True))
    for row in zip(*columns, strict=True):
        write("  ".join(row) + "\n", out)


@contextmanager
def streams() -> Iterator[None]:
    """Print characters that the encoding lacks as escapes, and exit quietly if the pipe is closed."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        with ending_with_the_reader():
            sys.stdout.flush()


def _open_closed_streams() -> None:
    """Open closed standard streams (`>&-`) on the null device; otherwise the next opened file would replace them.

    A child process would then print into that file, which may be a warehouse.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, number)
            if nowhere != number:
                os.close(nowhere)
            setattr(sys, name, os.fdopen(number, "r" if name == "stdin" else "w", closefd=False))


@contextmanager
def redirect_other_output(file: Path, ours: Console) -> Iterator[None]:
    """Redirect stderr of libraries and child processes to a file; the given console keeps its stream.

    For example, each of Dagster's processes that capture output prints a traceback on Ctrl-C.
    """
    stream = sys.stderr
    is_redirected = False
    with suppress(OSError):  # A test's stream has no number.
        is_redirected = isinstance(stream, TextIOWrapper) and stream.fileno() == STDERR
    if not is_redirected:
        yield
        return
    stream.flush()
    is_on_stderr = ours.file is stream
    with file.open("wb") as other, os.fdopen(os.dup(STDERR), "w", errors="backslashreplace") as kept:
        os.dup2(other.fileno(), STDERR)
        if is_on_stderr:
            ours.file = kept
        try:
            yield
        finally:
            stream.flush()
            os.dup2(kept.fileno(), STDERR)
            if is_on_stderr:
                kept.flush()
                ours.file = stream


@contextmanager
def ending_with_the_reader() -> Iterator[None]:
    """Exit quietly with status 0 if the reader closes the pipe, as `head` does."""
    try:
        yield
    except BrokenPipeError:
        silence(sys.stdout)
        raise SystemExit(0) from None


def silence(stream: IO[str]) -> None:
    """Discard all further output of a stream; otherwise Python reports its error at exit."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
