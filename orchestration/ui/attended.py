"""Run a command until standard input closes: `python attended.py COMMAND...`.

The command gets a process group of its own. The group ends when the command ends, when this process gets a signal, or
when standard input closes; the kernel closes it however the parent process dies. Only the standard library is imported,
because this process runs once for every service.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from types import FrameType

SECONDS_TO_END = 10.0
SECONDS_BETWEEN_LOOKS = 0.2


def attend(command: list[str]) -> int:
    """Run the command; return its exit status after everything that it started has ended."""
    stopped: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        stopped.append(number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)  # noqa: S603 -- from our code
    try:
        while process.poll() is None and not stopped:
            readable, _, _ = select.select([sys.stdin], [], [], SECONDS_BETWEEN_LOOKS)
            if readable and not os.read(sys.stdin.fileno(), 1024):
                break
    finally:
        end_group(process)
    return process.returncode


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and its group with SIGTERM, and after some seconds with SIGKILL."""
    for number, patience in ((signal.SIGTERM, SECONDS_TO_END), (signal.SIGKILL, SECONDS_TO_END)):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            process.poll()
            if not _group_exists(process.pid):
                return
            time.sleep(0.05)


def _group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(attend(sys.argv[1:]))
