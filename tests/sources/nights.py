"""Nights of a simulated cluster: its logs as they come, a day's files at a time, some late, doubled and corrected."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

from assets.simulation import simulate

DAYS = 30
LATE_DAY, ARRIVES = 8, 28
"""Accounting, kernel log and check results of the ninth day come 20 days later."""
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")


def simulated(folder: Path, days: int = DAYS, scale: float = 0.5) -> Path:
    """Write the logs of two small clusters and give the folder of all clusters."""
    simulate("demo", folder, days=days, scale=scale)
    return folder / "sources"


def day_of(path: Path) -> date | None:
    """Tell the day a file's name carries; None when it is one file for all days."""
    found = _DATE.search(path.name)
    return date(*map(int, found.groups())) if found else None


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def nights(complete: Path, growing: Path) -> Iterator[int]:
    """Let a folder grow to hold what the complete one does, a day a night, and give the number of each night.

    Accounting of the third night comes a day before its jobs' ends are known, and is corrected on the fourth; the
    files of the sixth day are there twice until the tenth; those of `LATE_DAY` come late.
    """
    files = sorted(path for path in complete.rglob("*") if path.is_file())
    first = min(day for path in files if (day := day_of(path)) and path.parent.name == "sacct")
    for night in range(DAYS + 1):
        for path in files:
            day, place = day_of(path), path.relative_to(complete)
            target = growing / place
            is_late = day == first + timedelta(days=LATE_DAY) and place.parts[1] in ("sacct", "kernel", "health")
            due = ARRIVES if is_late else 0 if day is None else max(0, (day - first).days)
            if due == night or (due > DAYS and night == DAYS):
                _copy(path, target)
                if place.parts[1] == "sacct" and night == 3:
                    shorten(target)
                if night == 6 and day is not None:
                    _copy(path, target.with_name(f"again-{target.name}"))
            elif place.parts[1] == "sacct" and night == 4 and due == 3:
                _copy(path, target)
        if night == 10:
            for path in growing.rglob("again-*"):
                path.unlink()
        yield night


def shorten(path: Path) -> None:
    """Leave out the last third of an export, and say of the record before it that it still runs."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = lines[: max(2, len(lines) * 2 // 3)]
    names = kept[0].rstrip("\n").split("|")
    fields = kept[-1].rstrip("\n").split("|")
    fields[names.index("State")], fields[names.index("End")] = "RUNNING", "Unknown"
    path.write_text("".join([*kept[:-1], "|".join(fields) + "\n"]), encoding="utf-8")
    os.utime(path, (path.stat().st_mtime + 1, path.stat().st_mtime + 1))
