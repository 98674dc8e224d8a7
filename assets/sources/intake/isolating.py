"""Load a batch without the files that cannot be read.

This runs only after a failure. The batch is halved until the failing file is alone, and that file is refused with the
error's first line. No row of a file is trusted if its reader failed, lost or doubled a line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import duckdb

from assets.bad_clusters.errors import described, is_machine_error
from assets.sources.errors import SourceError, SourceErrors
from assets.sources.intake.find.folder import RefusedFile
from assets.sources.reader import SourceFile
from assets.sources.regular import unreadable


def load_good_files(load: Callable[[Sequence[SourceFile]], None], files: Sequence[SourceFile]) -> list[RefusedFile]:
    """Load the files of a batch that can be read, and return the others with their errors.

    Parameters
    ----------
    load
        Loads some of the files in one transaction, or raises an error.
    files
        The batch.

    Raises
    ------
    Exception
        An error that the files did not cause.
    """
    refused: list[RefusedFile] = []
    pending = [list(files)]
    while pending:
        group = pending.pop()
        try:
            load(group)
        except Exception as error:
            named = named_files(group, error)
            if not named and is_machine_error(error):
                raise
            if named:
                keys = {found.file.key for found in named}
                refused += named
                pending += [rest] if (rest := [file for file in group if file.key not in keys]) else []
            elif len(group) > 1:
                half = len(group) // 2
                pending += [group[half:], group[:half]]
            else:
                refused.append(_refusal(group[0], error))
    return refused


def named_files(group: Sequence[SourceFile], error: Exception) -> list[RefusedFile]:
    """Return the files of a group that an error names."""
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
