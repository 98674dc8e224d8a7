"""Errors in a sources folder: where, what is wrong, and the next step."""

from __future__ import annotations

from collections.abc import Sequence

from assets.sources.masking import mask


class SourceError(Exception):
    """A file, folder or setting that cannot be used: what is wrong, where, and the next step; secrets are masked."""

    def __init__(self, path: str, what: str, next_step: str, line: int | None = None) -> None:
        self.path, self.what, self.next_step, self.line = path, mask(what), next_step, line
        where = path if line is None else f"{path}, line {line}"
        super().__init__(f"{where}: {self.what}. {next_step}")


class SourceErrors(Exception):
    """Everything wrong with a sources folder at once; its text is one line per error."""

    def __init__(self, errors: Sequence[SourceError]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(str(error) for error in self.errors))
