"""What a command costs: wall and CPU time and peak memory of the process and of all it starts.

CPU time is the kernel's account of the process and the children it waited for, or what was sampled, if that is more:
nobody waits for Spark's Java. Memory is sampled, because the kernel knows the peak of each process only, and processes
that run side by side need theirs together. Needs /proc.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestration.settings.home import PROJECT

SAMPLE_SECONDS = 0.2
SAMPLES_PER_SEARCH = 3
TAIL_LINES = 12
REFERENCE_LOOPS, REFERENCE_RUNS = 1_000_000, 3


class CommandFailed(Exception):
    """A measured command that had to succeed did not; carries the end of what it printed."""


@dataclass(frozen=True)
class Cost:
    """One run of one command.

    Attributes
    ----------
    wall_seconds, cpu_seconds
        Time on the clock; user and system time of the process and of those it started.
    peak_mb
        Highest memory of all processes together, shared files counted once; never less than `process_mb`.
    process_mb
        Highest resident memory of the largest process, as the kernel counted it.
    exit_code
        0 when the command did what it should.
    reference_seconds
        CPU time of the same small piece of work, the mean of before and after: the machine's speed beside this run.
    load
        How many processes of the machine wanted a processor in the minute before.
    """

    wall_seconds: float
    cpu_seconds: float
    peak_mb: float
    process_mb: float
    exit_code: int = 0
    reference_seconds: float = 0
    load: float = 0


@dataclass(frozen=True)
class Sample:
    """What a process tree held at one moment.

    Attributes
    ----------
    at
        Seconds since 1970.
    megabytes
        Memory of all of them together.
    """

    at: float
    megabytes: float


def measure(
    command: Sequence[str | Path],
    log: Path,
    environment: dict[str, str] | None = None,
    may_fail: bool = False,
    samples: list[Sample] | None = None,
) -> Cost:
    """Run a command to its end and account for it.

    Parameters
    ----------
    command
        Program and arguments.
    log
        File that takes all it prints.
    environment
        Variables besides those of this process; this checkout's code always comes first on the path.
    may_fail
        Return the cost of a command that failed instead of raising `CommandFailed`.
    samples
        Takes what the command held a few times a second.
    """
    variables = {**os.environ, "PYTHONPATH": str(PROJECT), **(environment or {})}
    log.parent.mkdir(parents=True, exist_ok=True)
    load = os.getloadavg()[0]
    before = reference_seconds()
    with log.open("wb") as output:
        started = time.perf_counter()
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=variables,
            start_new_session=True,
        )
        sampler = _Sampler(process.pid, samples)
        sampler.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            # Its session is its own, so that an interruption of this process would not reach it.
            os.killpg(process.pid, signal.SIGTERM)
            raise
        finally:
            sampler.stop()
        wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode and not may_fail:
        tail = log.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL_LINES:]
        raise CommandFailed("\n".join([f"exit status {process.returncode}: {command}", *tail]))
    # The kernel's own maximum counts the memory of whoever started the process, up to the start: only if need be.
    process_bytes = sampler.largest_bytes or usage.ru_maxrss * 1024
    return Cost(
        wall_seconds=wall,
        cpu_seconds=max(usage.ru_utime + usage.ru_stime, sum(sampler.cpu_seconds.values())),
        peak_mb=max(process_bytes, sampler.peak_bytes) / 1e6,
        process_mb=process_bytes / 1e6,
        exit_code=process.returncode,
        reference_seconds=(before + reference_seconds()) / 2,
        load=load,
    )


def faultline(*arguments: str | Path) -> list[str | Path]:
    """Give the command line of `faultline` as it is installed beside this Python.

    Not `python -c`: DuckDB would take that for a person at a keyboard and draw progress bars.
    """
    return [Path(sys.executable).with_name("faultline"), *arguments]


def megabytes(folder: Path) -> float:
    """Add up the files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def reference_seconds() -> float:
    """Time a fixed piece of arithmetic: CPU seconds, the median of a few."""
    seconds = []
    for _ in range(REFERENCE_RUNS):
        started = time.thread_time()
        sum(number * number for number in range(REFERENCE_LOOPS))
        seconds.append(time.thread_time() - started)
    return statistics.median(seconds)


def median(costs: Sequence[Cost]) -> Cost:
    """Take the median of each number on its own, the worst of the exit codes."""
    return Cost(
        statistics.median(cost.wall_seconds for cost in costs),
        statistics.median(cost.cpu_seconds for cost in costs),
        statistics.median(cost.peak_mb for cost in costs),
        statistics.median(cost.process_mb for cost in costs),
        max(abs(cost.exit_code) for cost in costs),
        statistics.median(cost.reference_seconds for cost in costs),
        statistics.median(cost.load for cost in costs),
    )


class _Sampler(threading.Thread):
    """Adds up the memory of a process tree a few times a second and keeps the highest sum, and the CPU time of each."""

    def __init__(self, root: int, samples: list[Sample] | None) -> None:
        super().__init__(daemon=True)
        self.root = root
        self.samples = samples
        self.peak_bytes = 0
        self.largest_bytes = 0
        self.cpu_seconds: dict[int, float] = {}
        self._stopped = threading.Event()

    def run(self) -> None:
        samples = 0
        members: set[int] = set()
        while not self._stopped.wait(SAMPLE_SECONDS):
            # Looking through all processes costs more than measuring a few, on a machine that has better things to do.
            if samples % SAMPLES_PER_SEARCH == 0:
                members = family(self.root)
            samples += 1
            held = _together(members)
            self.peak_bytes = max(self.peak_bytes, held)
            self.largest_bytes = max(self.largest_bytes, *map(_high_water, members), 0)
            self.cpu_seconds |= {pid: seconds for pid in members if (seconds := _cpu_seconds(pid))}
            if self.samples is not None:
                self.samples.append(Sample(time.time(), held / 1e6))

    def stop(self) -> None:
        self._stopped.set()
        self.join()


def family(root: int) -> set[int]:
    """List a process, its descendants and whoever is of its session, orphans included; empty without /proc."""
    children: dict[int, list[int]] = {}
    members: set[int] = set()
    for name in (entry.name for entry in Path("/proc").glob("[0-9]*")):
        fields = _stat(int(name))
        if not fields:
            continue
        pid, parent, session = int(name), int(fields[1]), int(fields[3])
        children.setdefault(parent, []).append(pid)
        if root in {pid, session}:
            members.add(pid)
    waiting = list(members)
    while waiting:
        found = [pid for pid in children.get(waiting.pop(), []) if pid not in members]
        members.update(found)
        waiting.extend(found)
    return members


def _together(members: set[int]) -> int:
    """Add up the memory of processes: the largest in full, of the others what they hold beyond files they may share.

    The kernel's own account of shared pages is exact, and takes it ten milliseconds for a process of some gigabytes.
    """
    pages = [_content(f"/proc/{pid}/statm").split()[1:3] for pid in members]
    counted = [(int(entry[0]), int(entry[1])) for entry in pages if entry]
    if not counted:
        return 0
    _, shared = max(counted)
    return (shared + sum(held - files for held, files in counted)) * os.sysconf("SC_PAGESIZE")


def _high_water(pid: int) -> int:
    """Give the most bytes a process ever held since it began its program."""
    for line in _content(f"/proc/{pid}/status").splitlines():
        if line.startswith(b"VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def _cpu_seconds(pid: int) -> float:
    """Give the CPU time of a process without that of its children."""
    return sum(map(int, _stat(pid)[11:13])) / os.sysconf("SC_CLK_TCK")


def _stat(pid: int) -> list[bytes]:
    """Give what the kernel says of a process, from its state on: the name before it may hold spaces and brackets."""
    return _content(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def _content(path: str) -> bytes:
    """Read a file of the kernel; nothing if its process has ended or belongs to somebody else."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return b""
