"""The machine a benchmark ran on, without anything that names it."""

from __future__ import annotations

import os
import platform
import shutil
from importlib.metadata import version
from pathlib import Path

import duckdb

PACKAGES = ("dagster", "dbt-core", "dbt-duckdb", "great-expectations")


def describe(folder: Path) -> dict[str, str]:
    """Say what matters for speed: processor, memory, the disk of `folder`, system and versions."""
    cores = len(os.sched_getaffinity(0))
    threads = duckdb.sql("select current_setting('threads')").fetchall()[0][0]
    return {
        "processor": f"{_processor()}, {cores} cores, {threads} DuckDB threads",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "disk": f"{_disk(folder)}, {shutil.disk_usage(folder).free / 1e9:.0f} GB free",
        "load when begun": f"{os.getloadavg()[0]:.1f}",
        "system": _system(),
        "Python": platform.python_version(),
        "DuckDB": duckdb.__version__,
        **{name: version(name) for name in PACKAGES},
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return " ".join(line.partition(":")[2].split())
    return platform.machine()


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.system()


def _disk(folder: Path) -> str:
    """Tell the kind of disk; a virtual one hides what is behind it."""
    device = folder.stat().st_dev
    block = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    disk = block if (block / "queue").exists() else block.parent
    if disk.name.startswith(("vd", "xvd")):
        return "virtual disk"
    try:
        return "rotating disk" if (disk / "queue" / "rotational").read_text().strip() == "1" else "solid-state disk"
    except OSError:
        return "disk of unknown kind"
