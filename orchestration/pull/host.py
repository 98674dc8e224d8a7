"""Run Slurm's commands here or over ssh, one at a time, and refuse failed answers.

No shell of this machine is used. The remote shell gets each word quoted. Nothing asks for input on a terminal.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired

from assets.log_kinds import EPOCH_TIMES, in_shell
from assets.sources.settings import Pull
from assets.sources.text.masking import mask

ENVIRONMENT = ("env", "TZ=UTC", "LC_ALL=C", EPOCH_TIMES)
"""Makes windows UTC and errors English."""
SSH = (
    "ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=30",
    "-o", "ServerAliveCountMax=4",
)  # fmt: skip
SSH_FAILED, NOT_STARTED = 255, (126, 127)
MAX_REST_SECONDS = 2
ERROR = re.compile(
    r"(?:sacct|sacctmgr|scontrol|squeue|slurm\w*|srun)\b.{0,60}?\b(?:error|fatal):|(?:error|fatal):"
    r"|slurm accounting storage is disabled|.*\bproblem (?:with|talking to) (?:query|the database)|.*invalid field",
    re.I,
)
"""The beginning of a line in which a Slurm command reports an error."""
BY_HAND = (
    "see that slurmdbd and slurmctld run (`sacctmgr list qos`, `scontrol ping`) and run the command by hand: a login on"
    " that host may print a greeting on terminals only; if the answer is whole all the same, name the line in"
    " harmless_errors under [pull]"
)


class PullProblem(Exception):
    """A problem and its next step, with secrets masked."""

    def __init__(self, what: str, next_step: str = BY_HAND) -> None:
        self.what, self.next_step = mask(what), mask(next_step)
        super().__init__(f"{self.what}; {self.next_step}")


class PullFailed(PullProblem):
    """A query returned nothing usable."""


class HostUnreachable(PullProblem):
    """The host would answer no further query."""


class PullRunning(PullProblem):
    """Another process fetches the logs of this cluster."""


class Host:
    """Where the commands of a cluster run."""

    def __init__(self, pull: Pull) -> None:
        self._pull = pull
        self._rest_until = 0.0

    def command(self, words: Sequence[str]) -> list[str]:
        """Return the program and arguments that run a command."""
        pull = self._pull
        # An absolute path stays: such a program is not Slurm's.
        program = str(PurePosixPath(pull.bin or "", words[0]))
        there = [*pull.prefix, *ENVIRONMENT, program, *words[1:]]
        return there if pull.ssh is None else [*SSH, *pull.ssh_options, "--", pull.ssh, shlex.join(there)]

    def shown(self, words: Sequence[str]) -> str:
        """Return the command as typed into bash."""
        return in_shell(self.command(words))

    def text_of(self, words: Sequence[str]) -> str:
        """Run a command, and return its output as text."""
        return self.run(words).decode("utf-8", errors="replace")

    def run(self, words: Sequence[str]) -> bytes:
        """Run a command, after a pause for the previous one, and return its output.

        Raise `PullFailed` if it ran for too long or reports an error, `HostUnreachable` if no command can be run.
        """
        time.sleep(max(0.0, self._rest_until - time.monotonic()))
        argv, limit, started = self.command(words), self._pull.timeout_seconds, time.monotonic()
        try:
            process = Popen(argv, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, start_new_session=True)  # noqa: S603 -- no shell
        except OSError as error:
            step = "install it, or correct [pull] in cluster.toml"
            raise HostUnreachable(f"{argv[0]} cannot be started ({error.strerror})", step) from None
        with process:
            try:
                answer, errors = process.communicate(timeout=limit)
            except TimeoutExpired:
                step = "look at the load of slurmdbd, or raise timeout_seconds under [pull] in cluster.toml"
                raise PullFailed(f"{words[0]} gave no whole answer in {limit:g} s", step) from None
            finally:
                if process.returncode is None:
                    with suppress(ProcessLookupError):
                        # End the command's child processes, too.
                        os.killpg(process.pid, signal.SIGKILL)
                now = time.monotonic()
                # A quick query needs only a short pause: otherwise 90 days without a job would take minutes.
                self._rest_until = now + min(now - started, MAX_REST_SECONDS)
        lines = [line.strip() for line in errors.decode("utf-8", errors="replace").splitlines() if line.strip()]
        self._require_success(words[0], process.returncode, lines)
        return answer

    def _require_success(self, program: str, status: int, lines: list[str]) -> None:
        """Refuse a bad exit status, and, for any status, an error on stderr that is not known to be harmless."""
        ssh, said = self._pull.ssh, lines[-1] if lines else "it printed no reason"
        if ssh is not None and status == SSH_FAILED:
            trial = in_shell([*SSH, *self._pull.ssh_options, "--", ssh, "true"])
            step = f"log in once by hand to accept the host's key, then make this work: {trial}"
            raise HostUnreachable(f"ssh to {ssh} failed: {said}", step)
        if status in NOT_STARTED:
            raise PullFailed(
                f"{program} does not run {f'on {ssh}' if ssh else 'on this machine'}: {said}",
                'under [pull] in cluster.toml, name its folder (bin = "/opt/slurm/bin") or the host (ssh = "login1")',
            )
        harmless = self._pull.harmless_errors
        errors = [line for line in lines if ERROR.match(line) and not any(re.search(each, line) for each in harmless)]
        if status or errors:
            how = f"exit status {status}" if status else "exit status 0, but an error"
            raise PullFailed(f"{errors[0] if errors else said} ({program}, {how})")
