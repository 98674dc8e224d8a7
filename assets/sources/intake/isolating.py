"""Load a batch without the files that cannot be read and the lines at which the reader fails.

Nothing here runs until something has failed. Then the batch is halved until the failing file is alone. A binary search
finds the first line at which the file fails, and the line is set aside. A file is refused if it still fails, or if the
reader lost or doubled one of its lines, because no row of it can be trusted then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import duckdb

from assets.bad_clusters.errors import described, is_machine_error
from assets.sources.errors import SourceError, SourceErrors
from assets.sources.intake.find.folder import RefusedFile
from assets.sources.intake.read.batch_lines import Aside
from assets.sources.reader import SourceFile
from assets.sources.regular import unreadable

MAX_LINES = 10
"""Lines that are set aside of one file: where more than these stop it, it is no log of this kind."""
MAX_SEARCHED_FILES = 20
"""Files of one batch whose lines are searched: where more are stopped, it is their form that the reader cannot read."""


class Load(Protocol):
    """Loads files in one transaction; as a trial it commits nothing."""

    def __call__(self, files: Sequence[SourceFile], aside: Aside | None = None, *, is_trial: bool = False) -> None:
        """Load the files, or raise what stopped it."""


@dataclass
class Findings:
    """Files and lines that were left out of a batch."""

    refused: list[RefusedFile] = field(default_factory=list)
    set_aside: list[tuple[SourceFile, int, str]] = field(default_factory=list)
    by_lines: list[tuple[SourceFile, str]] = field(default_factory=list)
    """Files that are loaded whole, but could not be read as a whole, and why."""


def load_good_parts(load: Load, count_lines: Callable[[SourceFile], int], files: Sequence[SourceFile]) -> Findings:
    """Load a batch without the files and lines that stop it.

    Parameters
    ----------
    load
        Loads some of the files.
    count_lines
        Gives the number of lines of a file.
    files
        The batch.

    Raises
    ------
    Exception
        What has nothing to do with the files.
    """
    findings, pending, searched = Findings(), [list(files)], 0
    while pending:
        group = pending.pop()
        try:
            load(group)
        except Exception as error:
            refused = named_files(group, error)
            if not refused and is_machine_error(error):
                raise
            if refused:
                findings.refused += refused
                named = {refused_file.file.key for refused_file in refused}
                rest = [file for file in group if file.key not in named]
                pending += [rest] if rest else []
            elif len(group) > 1:
                half = len(group) // 2
                pending += [group[half:], group[:half]]
            elif searched == MAX_SEARCHED_FILES:
                findings.refused.append(_refusal(group[0], error))
            else:
                searched += 1
                _load_alone(load, count_lines, group[0], error, findings)
    return findings


def named_files(group: Sequence[SourceFile], error: Exception) -> list[RefusedFile]:
    """List the files of a group that an error names."""
    if isinstance(error, OSError):
        return [
            RefusedFile(file, unreadable(file.path, error)) for file in group if error.filename == str(file.absolute)
        ]
    wrong = {file_error.path: file_error for file_error in error.errors} if isinstance(error, SourceErrors) else {}
    return [RefusedFile(file, wrong[file.path]) for file in group if file.path in wrong]


def _refusal(file: SourceFile, error: Exception) -> RefusedFile:
    what = f"the reader failed on it ({described(error)})"
    next_step = (
        "Give DuckDB more memory (FAULTLINE_MEMORY), and run `faultline refresh` again."
        if isinstance(error, MemoryError | duckdb.OutOfMemoryException)
        else "Export it again, or send the message and a few lines to the maintainers."
    )
    return RefusedFile(file, SourceError(file.path, what, next_step))


def _load_alone(
    load: Load, count_lines: Callable[[SourceFile], int], file: SourceFile, error: Exception, findings: Findings
) -> None:
    """Load a file without the lines at which its reader fails, or refuse it."""

    def error_of(aside: Aside, *, is_trial: bool) -> Exception | None:
        try:
            load([file], aside, is_trial=is_trial)
        except Exception as error:
            if is_machine_error(error):
                raise
            return error
        return None

    lines: dict[int, str] = {}
    while len(lines) <= MAX_LINES:
        stopped_by = error_of(Aside(lines), is_trial=False)
        if stopped_by is None:
            findings.by_lines += [] if lines else [(file, described(error))]
            findings.set_aside += [(file, number, what) for number, what in sorted(lines.items())]
            return
        error = stopped_by
        # Where memory ran out no single line is at fault, and every trial would take as much again.
        is_untrusted = isinstance(error, AssertionError | MemoryError | duckdb.OutOfMemoryException)
        if is_untrusted or named_files([file], error) or error_of(Aside(lines, 0), is_trial=True) is not None:
            break
        good, bad = 0, count_lines(file)
        while bad - good > 1:
            middle = (good + bad) // 2
            found = error_of(Aside(lines, middle), is_trial=True)
            good, bad = (middle, bad) if found is None else (good, middle)
            error = found or error
        if bad in lines:
            break
        lines[bad] = described(error)
    findings.refused += named_files([file], error) or [_refusal(file, error)]
