"""The process that holds a lock: what the system knows of it by its number."""

from __future__ import annotations

import os
import pwd
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from orchestration.terminal.output import visible

MAX_COMMAND = 120


@dataclass(frozen=True)
class Holder:
    """A process. On another machine, in another container, or if hidden by the system, only its number is known."""

    process: str
    command: str | None = None
    user: str | None = None
    since: str | None = None
    """Its start, ISO 8601 in UTC."""

    def __str__(self) -> str:
        if self.command is None or self.since is None:
            return f"process {self.process}, which this machine does not show"
        return f"process {self.process} of {self.user} since {self.since[:16].replace('T', ' ')} UTC: {self.command}"


def holder_of(process: str) -> Holder:
    """Return the process with a number; any other text is kept unchanged."""
    number = process.strip() or "unknown"
    if number.isdecimal():
        with suppress(OSError, ValueError, IndexError, StopIteration):
            return _running(number)
    return Holder(number)


def _running(number: str) -> Holder:
    folder = Path("/proc", number)
    words = folder.joinpath("cmdline").read_bytes().decode(errors="replace").split("\0")
    # The name of the program may hold blanks and stands in parentheses.
    ticks = int(folder.joinpath("stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19])
    lines = Path("/proc/stat").read_text(encoding="utf-8").splitlines()
    booted = int(next(line.split()[1] for line in lines if line.startswith("btime")))
    started = datetime.fromtimestamp(booted + ticks / os.sysconf("SC_CLK_TCK"), UTC)
    user = str(folder.stat().st_uid)
    with suppress(KeyError):
        user = pwd.getpwuid(int(user)).pw_name
    command = visible(" ".join(word for word in words if word))
    shown = command if len(command) <= MAX_COMMAND else f"{command[:MAX_COMMAND]}..."
    return Holder(number, shown, user, started.replace(microsecond=0).isoformat())
