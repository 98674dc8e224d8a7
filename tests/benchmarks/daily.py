"""Simulated logs of every scale, made once and kept, and the two halves of a night: all days but the last, then it."""

from __future__ import annotations

import re
import shutil
import sys
from fractions import Fraction
from pathlib import Path

from tests.benchmarks.measuring import measure

PROFILES = ("rsc1", "rsc2")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def faultline(*arguments: str | Path) -> list[str | Path]:
    """Give the command line of `faultline` as it is installed beside this Python.

    Not `python -c`: DuckDB would take that for a person at a keyboard and draw progress bars.
    """
    return [Path(sys.executable).with_name("faultline"), *arguments]


def sources_of(scale: Fraction, logs: Path) -> Path:
    """Give the sources folder of a scale, `LOGS/<scale>/sources` with `-` for the slash; simulate it if it is missing.

    A folder appears under its name when both clusters are whole, so that an interrupted simulation is made again.
    """
    folder = logs / str(scale).replace("/", "-")
    if not folder.exists():
        unfinished = folder.with_name(f"{folder.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        for profile in PROFILES:
            command = faultline("simulate", profile, "--scale", str(float(scale)), "--out", unfinished)
            measure(command, logs / f"simulate-{folder.name}-{profile}.log")
        unfinished.rename(folder)
    return folder / "sources"


def last_day(sources: Path) -> str:
    """Find the last day that accounting files are named after."""
    days = [day.group() for path in sources.glob("*/sacct/*") if (day := _DAY.search(path.name))]
    if not days:
        raise ValueError(f"no accounting file under {sources} has a day in its name")
    return max(days)


def hold_back(sources: Path, target: Path, day: str) -> list[tuple[Path, Path]]:
    """Link all files of `sources` into `target` but those named after `day` or later, which are returned as pairs.

    Kinds that are one file, such as an export of node events, are there from the beginning.
    """
    held = []
    for path in sorted(sources.rglob("*")):
        if not path.is_file():
            continue
        place = target / path.relative_to(sources)
        named = _DAY.search(path.name)
        if named and named.group() >= day:
            held.append((path, place))
        else:
            link(path, place)
    return held


def link(path: Path, place: Path) -> None:
    """Make `place` a symbolic link, which leaves no trace in the logs it points to."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(path.resolve())


def megabytes(folder: Path) -> float:
    """Add up the files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
