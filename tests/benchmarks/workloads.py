"""The workloads that are measured: where their logs come from, and how the last day is added to them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

from tests.benchmarks import made
from tests.benchmarks.measuring import faultline, measure

PROFILES = ("rsc1", "rsc2")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True)
class Workload:
    """Logs that are unlike those of the others.

    Attributes
    ----------
    logs
        What they are, in words.
    sources_of
        Gives the kept logs of a scale below a folder, and makes them if they are missing.
    hold_back
        Lays out kept logs without their last day in a sources folder, and gives what adds that day.
    """

    name: str
    logs: str
    sources_of: Callable[[Fraction, Path], Path]
    hold_back: Callable[[Path, Path], Callable[[], None]]


def simulated(scale: Fraction, logs: Path) -> Path:
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


def hold_back_files(logs: Path, sources: Path) -> Callable[[], None]:
    """Link all files of `logs` into `sources` but those of the last day, and give what links these.

    Kinds that are one file, such as an export of node events, are there from the beginning.
    """
    files = {path: _DAY.search(path.name) for path in sorted(logs.rglob("*")) if path.is_file()}
    last = max(day.group() for path, day in files.items() if day and path.parent.name == "sacct")
    held = [path for path, day in files.items() if day and day.group() >= last]

    def link(paths: list[Path]) -> None:
        for path in paths:
            place = sources / path.relative_to(logs)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(path.resolve())

    link([path for path in files if path not in held])
    return lambda: link(held)


DAILY = Workload(
    "daily",
    "the simulated clusters `rsc1` and `rsc2`, a file of each kind and day. At scale 1, 3,000 nodes of 8 GPUs, 334"
    " days.",
    simulated,
    hold_back_files,
)
GROWING = Workload(
    "growing",
    "a made-up cluster (`tests/benchmarks/made`) of many users with small jobs, one growing file of each kind, 15 of"
    " 10,000 lines damaged. At scale 1, 480 nodes of 4 GPUs, 365 days.",
    partial(made.sources_of, "growing"),
    made.hold_back,
)
VARIED = Workload(
    "varied",
    "the same with checks in every wording that the seeds know, large jobs on scattered nodes, one user with a third"
    " of all attempts. At scale 1, 1,600 nodes of 8 GPUs, 240 days.",
    partial(made.sources_of, "varied"),
    made.hold_back,
)
WORKLOADS = {workload.name: workload for workload in (DAILY, GROWING, VARIED)}
