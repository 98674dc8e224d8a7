"""What a benchmark found, as plain data: measured costs by stage and scale, and what they are compared by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction

from tests.benchmarks.measuring import Cost, median

FLOOR = "floor"
FULL = "full refresh"
LIMITED = "full refresh, 1 GB"
NIGHTLY = "nightly increment"
NO_OP = "no-op refresh"
REPORT = "report alone"
STARTS = ("query", "status", "tables")


@dataclass
class Scale:
    """One size of the two clusters.

    Attributes
    ----------
    scale
        As given to the simulator: 1 is 2,000 and 1,000 nodes.
    attempts, lines, logs_mb
        What was read, the last day included.
    costs
        The runs of each stage, by its name.
    disk_mb
        What each stage left on the disk besides the logs, by its name.
    published_mb, working_mb
        Size of the two DuckDB files after the night.
    asked_seconds
        Wall seconds of each analyst's question through `faultline query`.
    direct_seconds
        The same on an open DuckDB connection.
    """

    scale: Fraction
    attempts: int = 0
    lines: int = 0
    logs_mb: float = 0
    costs: dict[str, list[Cost]] = field(default_factory=dict)
    disk_mb: dict[str, float] = field(default_factory=dict)
    published_mb: float = 0
    working_mb: float = 0
    asked_seconds: dict[str, float] = field(default_factory=dict)
    direct_seconds: dict[str, float] = field(default_factory=dict)

    def add(self, stage: str, cost: Cost) -> None:
        """Keep one run of a stage."""
        self.costs.setdefault(stage, []).append(cost)

    def cost(self, stage: str) -> Cost | None:
        """Give the median of a stage's runs, None if it was not run."""
        runs = self.costs.get(stage)
        return median(runs) if runs else None

    def ratio(self, stage: str) -> float | None:
        """Divide a stage's CPU time by the floor's."""
        cost, floor = self.cost(stage), self.cost(FLOOR)
        return cost.cpu_seconds / floor.cpu_seconds if cost and floor else None


@dataclass
class CheckLogs:
    """Raw check logs of one form, read by DuckDB alone and by the product."""

    form: str
    lines: int
    logs_mb: float
    scan: Cost
    read: Cost

    @property
    def rate_ratio(self) -> float:
        """Lines per CPU second of the reader over those of the scan."""
        return self.scan.cpu_seconds / self.read.cpu_seconds


@dataclass
class Results:
    """All of one benchmark."""

    machine: dict[str, str]
    runs: int
    fixed: Cost | None = None
    scales: list[Scale] = field(default_factory=list)
    checks: list[CheckLogs] = field(default_factory=list)

    def at(self, scale: Fraction) -> Scale | None:
        """Find the results of a scale."""
        return next((found for found in self.scales if found.scale == scale), None)

    @property
    def nearest_to_one(self) -> Scale:
        """The scale that the targets are about: 1, or else the one closest to it."""
        return min(self.scales, key=lambda found: abs(math.log(found.scale)))

    @property
    def quickest_reference(self) -> float:
        """The least time that the reference work took beside any stage of any scale, 0 where none was measured."""
        costs = (cost for scale in self.scales for runs in scale.costs.values() for cost in runs)
        return min((cost.reference_seconds for cost in costs), default=0)

    def as_dict(self) -> dict[str, object]:
        """Return the JSON form."""
        return {**asdict(self), "growth_exponent": growth_exponent(self.scales)}


def growth_exponent(scales: Sequence[Scale]) -> float | None:
    """Slope of log CPU time of the full refresh over log attempts, between the smallest and the largest scale."""
    sized = sorted((scale.attempts, cost.cpu_seconds) for scale in scales if (cost := scale.cost(FULL)))
    if len(sized) < 2 or sized[0][0] == sized[-1][0]:
        return None
    (few, low), (many, high) = sized[0], sized[-1]
    return math.log(high / low) / math.log(many / few)
