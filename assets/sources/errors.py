"""Errors in a sources folder: the place, what is wrong, and the next step."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assets.sources.text.masking import mask

_OWN_WORDS = (
    *("unreadable", "empty file", "binary file", "not an archive", "not a regular file"),
    *("larger than", "its name", "no accounting"),
)
"""Beginnings of reasons that quote nothing of a file."""


class SourceError(Exception):
    """A file, folder or setting that cannot be used: what is wrong, where, and the next step; secrets are masked."""

    def __init__(self, path: str, what: str, next_step: str, line: int | None = None) -> None:
        self.path, self.what, self.next_step, self.line = path, mask(what), next_step, line
        name = path.replace("\n", r"\n")
        where = name if line is None else f"{name}, line {line}"
        super().__init__(f"{where}: {self.what}. {next_step}")


def without_quotes(error: SourceError) -> SourceError:
    """Return an error without quotes of the file: only its reason and the next step.

    >>> print(without_quotes(SourceError("c1/sacct/a", "command_error_output: bob: no such user", "Export it again.")))
    c1/sacct/a: command_error_output. Export it again.
    """
    if error.what.startswith(_OWN_WORDS):
        return error
    return SourceError(error.path, re.split(r"[:(;]", error.what)[0].strip(), error.next_step, error.line)


class SourceErrors(Exception):
    """All errors of a sources folder; its text has one line per error."""

    def __init__(self, errors: Sequence[SourceError]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(str(error) for error in self.errors))
