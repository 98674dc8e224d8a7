"""The workloads that are measured: where their logs come from, and how the last day is added to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from tests.benchmarks import daily, made
from tests.benchmarks.growing import CAMPUS
from tests.benchmarks.varied import FOUNDRY


@dataclass(frozen=True)
class Workload:
    """Logs that are unlike those of the others.

    Attributes
    ----------
    name
        As given to `--workloads`.
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


DAILY = Workload(
    "daily",
    "The simulated clusters `rsc1` and `rsc2`: a file of each kind and day, good results of checks every few hours."
    " Scale 1 is 3,000 nodes of 8 GPUs, 334 days.",
    daily.sources_of,
    daily.hold_back,
)
GROWING = Workload(
    "growing",
    "A made-up cluster of many users with short, small jobs, 40% of them in arrays (`tests/benchmarks/growing`): one"
    " file of each kind, to which every day is appended; checks write down only what is not well and the recovery; of"
    " 10,000 lines 15 are repeated, followed by an empty one, cut off or not UTF-8. Scale 1 is 480 nodes of 4 GPUs, 365"
    " days: 4 million attempts, 3 million records of checks, 300,000 lines of Xids.",
    CAMPUS.sources_of,
    made.hold_back,
)
VARIED = Workload(
    FOUNDRY.name,
    "A made-up cluster whose checks say much (`tests/benchmarks/varied`): every check and every wording that the seeds"
    " know, with numbers, names and times in the messages, warnings without a recovery, and recoveries of what never"
    " failed; large jobs that hold whatever nodes were free; one user with a third of all attempts and the others by a"
    " Zipf law; one node with ten times the failed checks of others. One growing file of each kind, damaged as those of"
    " `growing`. Scale 1 is 1,600 nodes of 8 GPUs, 240 days: 4 million attempts on up to 224 nodes, 2.9 million records"
    " of checks, 300,000 lines of Xids.",
    FOUNDRY.sources_of,
    made.hold_back,
)
WORKLOADS = {workload.name: workload for workload in (DAILY, GROWING, VARIED)}
