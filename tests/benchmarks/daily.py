"""The first workload: simulated logs of the clusters rsc1 and rsc2, one file of each kind and day."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from tests.benchmarks.measuring import faultline, measure

PROFILES = ("rsc1", "rsc2")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


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


def hold_back(logs: Path, sources: Path) -> Callable[[], None]:
    """Link all files of `logs` into `sources` but those of the last day, and give what links these.

    Kinds that are one file, such as an export of node events, are there from the beginning.
    """
    day = last_day(logs)
    held = []
    for path in sorted(logs.rglob("*")):
        if not path.is_file():
            continue
        place = sources / path.relative_to(logs)
        named = _DAY.search(path.name)
        if named and named.group() >= day:
            held.append((path, place))
        else:
            _link(path, place)

    def add() -> None:
        for path, place in held:
            _link(path, place)

    return add


def _link(path: Path, place: Path) -> None:
    """Make `place` a symbolic link, which leaves no trace in the logs it points to."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(path.resolve())
