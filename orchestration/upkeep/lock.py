"""The lock of a home: one refresh at a time. A process without the lock opens nothing and writes nothing."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from orchestration.upkeep.healing import make_accessible, set_aside
from orchestration.upkeep.holder import Holder, holder_of

PATIENCE_SECONDS = 2
"""How long a command tries again to take the lock: `faultline status` holds it for milliseconds."""


class RefreshRunning(RuntimeError):
    """Another process is refreshing this home."""


class RefreshLock:
    """An advisory lock on a file; the kernel drops it whenever the process ends."""

    def __init__(self, path: Path, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self.path, self._patience = path, patience_seconds
        self._file: TextIO | None = None

    def acquire(self) -> None:
        """Take the lock; raise `RefreshRunning` with the holder if another process has it."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        make_accessible(self.path.parent)
        make_accessible(self.path)
        if self.path.is_dir():
            set_aside(self.path)
        file = self.path.open("a+", errors="replace")
        deadline = time.monotonic() + self._patience
        while not _locked(file) and time.monotonic() < deadline:
            time.sleep(0.05)
        if not _locked(file):
            file.seek(0)
            holder = holder_of(file.read())
            file.close()
            raise RefreshRunning(
                f"a refresh of {self.path.parent.parent} is already running ({holder}); "
                "wait for it to end, or stop that process, then run `faultline refresh` again"
            )
        try:
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
        except OSError:
            file.close()
            raise
        self._file = file

    def release(self) -> None:
        """Release the lock; harmless if it was never taken."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> None:
        """Take the lock."""
        self.acquire()

    def __exit__(self, *_: object) -> None:
        """Release the lock."""
        self.release()


@contextmanager
def free_of_refresh(lock_file: Path) -> Iterator[Holder | None]:
    """Yield None while no refresh can start, or the process of the running refresh.

    A refresh fails if another process has the working file open at that moment. A shared lock keeps it from starting
    for the few milliseconds of reading.
    """
    try:
        file = lock_file.open(errors="replace")
    except OSError:
        # If the lock file is missing or unreadable for this user, so is the working file.
        yield None
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            yield holder_of(file.read())
            return
        yield None


def _locked(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
