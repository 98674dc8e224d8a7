"""The processes of dbt that this process has started, for whoever ends a run.

A step that is stopped between two events of dbt leaves it running, and with it the lock of the working file.
"""

from __future__ import annotations

import signal
import subprocess
from typing import Any


class DbtKilled(OSError):
    """A signal ended dbt: neither a statement nor a row is at fault."""


_started: list[subprocess.Popen[Any]] = []


def note_started(process: subprocess.Popen[Any]) -> None:
    """Remember a process until the run ends."""
    _started.append(process)


def require_not_killed(exit_status: int | None) -> None:
    """Raise `DbtKilled` if a process of dbt ended by a signal."""
    if exit_status is not None and exit_status < 0:
        raise DbtKilled(
            f"dbt was killed ({signal.strsignal(-exit_status)}), most often because the machine or container ran out of"
            " memory; nothing was published, readers see the last publication as before; free memory or set"
            " FAULTLINE_MEMORY lower, then run `faultline refresh` again"
        )


def end_started() -> None:
    """End what still runs. DuckDB undoes what it had not committed when the file is opened next."""
    while _started:
        process = _started.pop()
        if process.poll() is None:
            process.kill()
        process.wait()
