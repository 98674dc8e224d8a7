"""What a benchmark found, as plain data: measured costs by stage, workload and scale, and what they are compared by."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from tests.benchmarks.measuring import Cost, median

FLOOR = "floor"
FULL = "full refresh"
LIMITED = "full refresh, 1 GB"
SINGLE = "full refresh, one thread"
NIGHTLY = "nightly increment"
NO_OP = "no-op refresh"
REPORT = "report alone"
STARTS = ("query", "status", "tables")
MAX_LOAD = 3
"""Of the machine before a stage: above it, other work was beside that of the benchmark."""


@dataclass(frozen=True)
class ModelCost:
    """CPU time of one model, and the most memory that the refresh held while it ran."""

    cpu_seconds: float
    peak_mb: float


@dataclass
class Scale:
    """One workload at one scale.

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
    rebuilt
        The steps of a night that build a table from all rows, whatever is new.
    models
        What each model cost in the full refresh on one thread, the dearest first.
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
    rebuilt: list[str] = field(default_factory=list)
    models: dict[str, ModelCost] = field(default_factory=dict)
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
        """Tell whether the machine had no other work, as far as is known."""
        return all((cost.load or 0) <= MAX_LOAD for runs in self.costs.values() for cost in runs)

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
class OnSpark:
    """The dbt project, built with all its tests on a local Spark, from the raw tables of one workload and scale.

    Attributes
    ----------
    raw_mb, disk_mb
        Size of the raw tables as Parquet, and of all that Spark left.
    duckdb_seconds
        Wall seconds of the same step in the full refresh that made the raw tables.
    """

    workload: str
    scale: Fraction
    attempts: int
    cost: Cost
    raw_mb: float
    disk_mb: float
    duckdb_seconds: float


@dataclass
class Results:
    """All of one benchmark."""

    machine: dict[str, str]
    runs: int
    fixed: Cost | None = None
    fixed_steps: dict[str, float] = field(default_factory=dict)
    """Seconds of the steps of the refresh that `fixed` is the cost of."""
    scales: list[Scale] = field(default_factory=list)
    checks: list[CheckLogs] = field(default_factory=list)
    spark: list[OnSpark] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    """What measured all this, the oldest first."""

    @property
    def workloads(self) -> dict[str, list[Scale]]:
        """The scales of each workload, the smallest first."""
        found: dict[str, list[Scale]] = {}
        for scale in sorted(self.scales, key=lambda found: (found.workload, found.scale)):
            found.setdefault(scale.workload, []).append(scale)
        return found

    def seconds_on_duckdb(self, run: OnSpark) -> float:
        """Wall seconds of dbt in the full refresh of a Spark run's logs; the benchmark's own row if there is one."""
        rows = (scale for scale in self.scales if (scale.workload, scale.scale) == (run.workload, run.scale))
        return next((row.steps[FULL]["dbt"] for row in rows if FULL in row.steps), run.duckdb_seconds)

    @property
    def quickest_reference(self) -> float:
        """The least time that the reference work took beside any stage of any scale, 0 where none was measured."""
        costs = (cost for scale in self.scales for runs in scale.costs.values() for cost in runs)
        return min((cost.reference_seconds for cost in costs), default=0)

    def replace(self, measured: Scale | OnSpark) -> None:
        """Keep what was measured in place of what was found before of the same workload and scale."""
        kept: list[Any] = self.scales if isinstance(measured, Scale) else self.spark
        kept[:] = [old for old in kept if (old.workload, old.scale) != (measured.workload, measured.scale)]
        kept.append(measured)

    def as_json(self) -> str:
        """Write the JSON form."""
        return json.dumps(asdict(self), default=str, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Results:
        """Read the JSON form."""
        found = json.loads(text)
        return cls(
            found["machine"],
            found["runs"],
            Cost(**found["fixed"]) if found["fixed"] else None,
            found.get("fixed_steps", {}),
            [_scale(entry) for entry in found["scales"]],
            [CheckLogs(**entry | {who: Cost(**entry[who]) for who in ("scan", "read")}) for entry in found["checks"]],
            [
                OnSpark(**entry | {"scale": Fraction(entry["scale"]), "cost": Cost(**entry["cost"])})
                for entry in found["spark"]
            ],
            found["commands"],
        )


def _scale(entry: dict[str, Any]) -> Scale:
    costs = {stage: [Cost(**run) for run in runs] for stage, runs in entry["costs"].items()}
    models = {name: ModelCost(**model) for name, model in entry.get("models", {}).items()}
    return Scale(**entry | {"scale": Fraction(entry["scale"]), "costs": costs, "models": models})


def nearest_to_one(scales: Sequence[Scale]) -> Scale:
    """Give the scale that the targets are about: 1, or else the one closest to it."""
    return min(scales, key=lambda found: abs(math.log(found.scale)))


def growth_exponent(scales: Sequence[Scale]) -> float | None:
    """Slope of log CPU time of the full refresh over log attempts, between the smallest and the largest scale."""
    sized = sorted((scale.attempts, cost.cpu_seconds) for scale in scales if (cost := scale.cost(FULL)))
    if len(sized) < 2 or sized[0][0] == sized[-1][0]:
        return None
    (few, low), (many, high) = sized[0], sized[-1]
    return math.log(high / low) / math.log(many / few)
