"""What a benchmark found, as plain data: measured costs by stage and workload, and what they are compared by."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from tests.benchmarks.measuring import Cost, median

FLOOR = "floor"
FULL = "full refresh"
LIMITED = "full refresh, 1 GB"
NIGHTLY = "nightly increment"
NO_OP = "no-op refresh"
REPORT = "report alone"
STARTS = ("query", "status", "tables")
MAX_LOAD = 3
"""Of the machine before a stage: above it, other work was beside that of the benchmark."""


@dataclass(frozen=True)
class StepCost:
    """Wall seconds of an estimate or a model, and the most memory that the refresh held while it ran."""

    seconds: float
    peak_mb: float


@dataclass
class Scale:
    """One workload.

    Attributes
    ----------
    workload
        Its name.
    scale
        1 is the full size.
    attempts, lines, node_days, logs_mb
        What was read, the last day included: attempts, lines of all logs, nodes times days, and the size of all logs.
    costs
        The runs of each stage, by its name.
    steps
        Seconds of each step of a full refresh and of a night, by the name of the stage.
    estimates, models
        What each cost in the full refresh by its name, the longest first.
    disk_mb
        What each stage left on the disk besides the logs, by its name.
    published_mb, working_mb
        Size of the two DuckDB files after the night.
    asked_seconds
        Wall seconds of each analyst's question through `faultline query`.
    direct_seconds
        The same on an open DuckDB connection.
    """

    workload: str
    scale: Fraction
    attempts: int = 0
    lines: int = 0
    node_days: int = 0
    logs_mb: float = 0
    costs: dict[str, list[Cost]] = field(default_factory=dict)
    steps: dict[str, dict[str, float]] = field(default_factory=dict)
    estimates: dict[str, StepCost] = field(default_factory=dict)
    models: dict[str, StepCost] = field(default_factory=dict)
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

    @property
    def is_measured_alone(self) -> bool:
        """Tell whether the machine had no other work."""
        return all(cost.load <= MAX_LOAD for runs in self.costs.values() for cost in runs)

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


@dataclass
class Results:
    """All of one benchmark: the machine, the refresh of the committed capture, the workloads, raw check logs.

    `fixed` is the cost of that refresh, with the seconds of its steps and the size of its home.
    """

    machine: dict[str, str]
    fixed: Cost
    fixed_steps: dict[str, float]
    fixed_mb: float
    checks: list[CheckLogs] = field(default_factory=list)
    scales: list[Scale] = field(default_factory=list)

    @property
    def quickest_reference(self) -> float:
        """The least time that the reference work took beside any stage."""
        return min(cost.reference_seconds for scale in self.scales for runs in scale.costs.values() for cost in runs)
