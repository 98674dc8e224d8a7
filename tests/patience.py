"""How long tests wait where no time is measured: a loaded machine is ten times slower than usual."""

import time
from pathlib import Path

PATIENCE_SECONDS = 120
"""A wait that ends with an error after this time. Nothing takes this long that works."""


def is_gone(pid: int) -> bool:
    """Say whether a process ends in time; one that only waits to be buried has ended."""
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
