"""What a command costs: wall and CPU time and peak memory of the process and of all it starts.

CPU time is the kernel's account of the process and the children it waited for. Memory is sampled, because the kernel
knows the peak of each process only, and processes that run side by side need theirs together. Needs /proc.
"""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from orchestration.settings.home import PROJECT

SAMPLE_SECONDS = 0.2
SAMPLES_PER_SEARCH = 3
TAIL_LINES = 12


class CommandFailed(Exception):
    """A measured command that had to succeed did not; carries the end of what it printed."""


@dataclass(frozen=True)
class Cost:
    """One run of one command.

    Attributes
    ----------
    peak_mb
        Highest memory of all processes together, shared files counted once, and at least the highest of one of them.
    exit_code
        0 when the command did what it should.
    load
        How many processes of the machine wanted a processor in the minute before.
    """

    wall_seconds: float
    cpu_seconds: float
    peak_mb: float
    exit_code: int = 0
    load: float = 0


def measure(
    command: Sequence[str | Path], log: Path, environment: dict[str, str] | None = None, may_fail: bool = False
) -> Cost:
    """Run a command to its end and account for it; `log` takes all it prints.

    This checkout's code always comes first on the path. With `may_fail` a command that failed has a cost as well.
    """
    variables = {**os.environ, "PYTHONPATH": str(PROJECT), **(environment or {})}
    log.parent.mkdir(parents=True, exist_ok=True)
    words = [str(part) for part in command]
    load = os.getloadavg()[0]
    with log.open("wb") as output:
        started = time.perf_counter()
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=variables,
            start_new_session=True,
        )
        sampler = _Sampler(process.pid)
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
    return Cost(
        wall_seconds=wall,
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        # The kernel's own maximum counts the memory of whoever started the process, up to the start: only if need be.
        peak_mb=(sampler.peak_bytes or usage.ru_maxrss * 1024) / 1e6,
        exit_code=process.returncode,
        load=load,
    )


def faultline(*arguments: str | Path) -> list[str | Path]:
    """Give the command line of `faultline` as it is installed next to this Python.

    Not `python -c`: DuckDB would take that for a person at a keyboard and draw progress bars.
    """
    return [Path(sys.executable).with_name("faultline"), *arguments]


def megabytes(folder: Path) -> float:
    """Add up the files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def describe_machine() -> dict[str, str]:
    """Say what matters for speed, and nothing that names the machine."""
    models = [line for line in _content("/proc/cpuinfo").decode().splitlines() if line.startswith("model name")]
    processor = " ".join(models[0].partition(":")[2].split()) if models else platform.machine()
    threads = duckdb.sql("select current_setting('threads')").fetchall()[0][0]
    return {
        "processor": f"{processor}, {len(os.sched_getaffinity(0))} cores, {threads} DuckDB threads",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": platform.freedesktop_os_release().get("PRETTY_NAME", platform.system()),
        "Python": platform.python_version(),
        "DuckDB": duckdb.__version__,
    }


class _Sampler(threading.Thread):
    """Adds up the memory of a process tree a few times a second and keeps the highest sum."""

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self.root, self.peak_bytes = root, 0
        self._stopped = threading.Event()

    def run(self) -> None:
        samples = 0
        members: set[int] = set()
        while not self._stopped.wait(SAMPLE_SECONDS):
            # Looking through all processes costs more than measuring a few, on a machine that has better things to do.
            if samples % SAMPLES_PER_SEARCH == 0:
                members = _family(self.root)
            samples += 1
            self.peak_bytes = max(self.peak_bytes, _together(members), *map(_high_water, members))

    def stop(self) -> None:
        self._stopped.set()
        self.join()


def _family(root: int) -> set[int]:
    """List a process and whoever is of its session, orphans included; empty without /proc."""
    members = set()
    for name in (entry.name for entry in Path("/proc").glob("[0-9]*")):
        # The name before the state may hold spaces and brackets.
        fields = _content(f"/proc/{name}/stat").rpartition(b")")[2].split()
        if fields and root in {int(name), int(fields[3])}:
            members.add(int(name))
    return members


def _together(members: set[int]) -> int:
    """Add up the memory of processes: the largest in full, of the others what they hold beyond files they may share.

    The kernel's own account of shared pages is exact, and takes it ten milliseconds for a process of some gigabytes.
    """
    pages = [_content(f"/proc/{pid}/statm").split()[1:3] for pid in members]
    counted = [(int(entry[0]), int(entry[1])) for entry in pages if entry]
    if not counted:
        return 0
    return (max(counted)[1] + sum(held - files for held, files in counted)) * os.sysconf("SC_PAGESIZE")


def _high_water(pid: int) -> int:
    """Give the most bytes a process ever held since it began its program."""
    held = [line.split()[1] for line in _content(f"/proc/{pid}/status").splitlines() if line.startswith(b"VmHWM:")]
    return int(held[0]) * 1024 if held else 0


def _content(path: str) -> bytes:
    """Read a file of the kernel; nothing if its process has ended or belongs to somebody else."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return b""
