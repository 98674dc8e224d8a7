"""Waits of tests that measure no time. They are long, because a loaded machine is ten times slower than usual."""

import time
from pathlib import Path

PATIENCE_SECONDS = 120
"""A wait ends with an error after this time. Nothing that works takes this long."""


def is_gone(pid: int) -> bool:
    """Return whether a process ends in time. A zombie has ended."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False
