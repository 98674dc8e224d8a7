"""Run Slurm's commands here or on a host that ssh reaches, and write what they print into a file.

No shell of this machine sees a word. The remote shell sees each one quoted. Nothing is ever asked for on a terminal.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from assets.log_kinds import EPOCH_TIMES, in_shell
from assets.sources.settings import Pull
from orchestration.pull.failures import HostUnreachable, PullFailed
from orchestration.pull.queries import WHO_ASKS

ENVIRONMENT = ("env", "TZ=UTC", "LC_ALL=C")
"""Windows are asked for in UTC, and errors are in English."""
SSH = (
    "ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=30",
    "-o", "ServerAliveCountMax=4",
)  # fmt: skip
SSH_FAILED, NOT_EXECUTABLE, NOT_FOUND = 255, 126, 127
MAX_ERROR_BYTES = 65_536
CHUNK = 1 << 20


@dataclass(frozen=True)
class Finished:
    """How a command ended: exit status, what it wrote to stderr, and the seconds that it took."""

    status: int
    errors: str
    seconds: float


class Host:
    """Where the commands of a cluster run."""

    def __init__(self, pull: Pull) -> None:
        self._pull = pull

    def command(self, words: Sequence[str]) -> list[str]:
        """Return the program and arguments that run a command of Slurm."""
        pull = self._pull
        is_slurms = pull.bin is not None and words[0] != WHO_ASKS[0]
        program = f"{str(pull.bin).rstrip('/')}/{words[0]}" if is_slurms else words[0]
        # Times are answered as epochs. In JSON they always are, and `sacct --json` of 22.05 then takes its own window,
        # which it writes in that form, for none.
        times = [] if "--json" in words else [EPOCH_TIMES]
        there = [*pull.prefix, *ENVIRONMENT, *times, program, *words[1:]]
        if pull.ssh is None:
            return there
        return [*SSH, *pull.ssh_options, "--", pull.ssh, shlex.join(there)]

    def shown(self, words: Sequence[str]) -> str:
        """Return the command as it is typed into bash."""
        return in_shell(self.command(words))

    def run(self, words: Sequence[str], into: Path) -> Finished:
        """Run a command and write its output into a file, flushed to disk.

        Raises
        ------
        PullFailed, HostUnreachable
            The command cannot be started, or ran for too long.
        OSError
            The file cannot be written.
        """
        argv, started = self.command(words), time.monotonic()
        with tempfile.TemporaryFile() as errors, into.open("wb") as out:
            try:
                process = subprocess.Popen(  # noqa: S603 -- settings of the cluster, no shell
                    argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
                )
            except OSError as error:
                raise HostUnreachable(
                    f"{argv[0]} cannot be started ({error.strerror})", "install it, or correct [pull] in cluster.toml"
                ) from None
            is_late = threading.Event()
            timer = threading.Timer(self._pull.timeout_seconds, _stop, (process, is_late))
            timer.start()
            try:
                # The answer passes through here: a command whose disk is full may end as if all were written.
                shutil.copyfileobj(cast("IO[bytes]", process.stdout), out, CHUNK)
                status = process.wait()
                out.flush()
                os.fsync(out.fileno())
            finally:
                timer.cancel()
                if process.poll() is None:
                    _stop(process)
                    process.wait()
            finished = Finished(status, _text(errors), time.monotonic() - started)
        if is_late.is_set():
            raise PullFailed(
                f"{words[0]} gave no whole answer in {self._pull.timeout_seconds:g} s",
                "look at the load of slurmdbd, or raise timeout_seconds under [pull] in cluster.toml",
            )
        self._require_started(words[0], finished)
        return finished

    def _require_started(self, program: str, finished: Finished) -> None:
        """Raise when it was not the command that ended, but what should have started it."""
        said = last_line(finished.errors)
        if self._pull.ssh is not None and finished.status == SSH_FAILED:
            trial = in_shell([*SSH, *self._pull.ssh_options, "--", self._pull.ssh, "true"])
            first = "log in once by hand and compare the host's key; then " if "host key" in said.lower() else ""
            raise HostUnreachable(f"ssh to {self._pull.ssh} failed: {said}", f"{first}make this work: {trial}")
        if finished.status in (NOT_FOUND, NOT_EXECUTABLE):
            where = f"on {self._pull.ssh}" if self._pull.ssh else "on this machine"
            raise PullFailed(
                f"{program} does not run {where}: {said}",
                'under [pull] in cluster.toml, name its folder (bin = "/opt/slurm/bin") or the host (ssh = "login1")',
            )


def last_line(text: str) -> str:
    """Return the last line that says something, or say that there is none."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it printed no reason"


def _text(errors: IO[bytes]) -> str:
    errors.seek(0)
    return errors.read(MAX_ERROR_BYTES).decode("utf-8", errors="replace")


def _stop(process: subprocess.Popen[bytes], is_late: threading.Event | None = None) -> None:
    """End a command and what it started."""
    if is_late is not None:
        is_late.set()
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
