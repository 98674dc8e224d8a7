"""The dbt processes that this process started, to be ended with the run.

A step that is stopped between two events of dbt leaves it running, and it keeps the working file locked.
"""

from __future__ import annotations

import signal
import subprocess
from typing import Any


class DbtKilled(OSError):
    """A signal ended dbt: no statement or row is the cause."""


_started: list[subprocess.Popen[Any]] = []


def note_started(process: subprocess.Popen[Any]) -> None:
    """Remember a process until the run ends."""
    _started.append(process)


def require_not_killed(exit_status: int | None) -> None:
    """Raise `DbtKilled` if a signal ended a process of dbt."""
    if exit_status is not None and exit_status < 0:
        raise DbtKilled(
            f"dbt was killed ({signal.strsignal(-exit_status)}), most often because the machine or container ran out of"
            " memory; nothing was published, readers see the last publication as before; free memory or set"
            " FAULTLINE_MEMORY lower, then run `faultline refresh` again"
        )


def end_started() -> None:
    """End the processes that still run. DuckDB undoes uncommitted changes when the file is opened next."""
    while _started:
        process = _started.pop()
        if process.poll() is None:
            process.kill()
        process.wait()
