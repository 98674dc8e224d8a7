"""The processes of dbt that this process has started, for whoever ends a run.

A step that is stopped between two events of dbt leaves it running, and with it the lock of the working file.
"""

from __future__ import annotations

import subprocess
from typing import Any

_started: list[subprocess.Popen[Any]] = []


def note_started(process: subprocess.Popen[Any]) -> None:
    """Remember a process until the run ends."""
    _started.append(process)


def end_started() -> None:
    """End what still runs. DuckDB undoes what it had not committed when the file is opened next."""
    while _started:
        process = _started.pop()
        if process.poll() is None:
            process.kill()
        process.wait()
