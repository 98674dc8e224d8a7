"""The planned run of `faultline plan`: its size, its length, and its given, known or assumed costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import duckdb

from assets.model.spares import USUAL_REPAIR_HOURS, probability_without_spare
from assets.sql import literal

USUAL = {
    "write_minutes": 5.0,
    "restart_minutes": 5.0,
    "queue_minutes": 0.0,
    "spare_count": 0.0,
    "repair_hours": USUAL_REPAIR_HOURS,
}
"""Values that are assumed if neither the user nor the cluster's settings and records give them."""


@dataclass(frozen=True)
class RunToPlan:
    """The planned run.

    Attributes
    ----------
    gpu_count, planned_days, ettr_target
        GPUs, days for which it holds its nodes, and ETTR to reach.
    checkpoint_minutes, gpus_per_node
        None if the user did not give them.
    given
        Costs that the user gave, by their names in `USUAL`.
    cluster_costs
        Costs from the cluster's settings or records.
    """

    gpu_count: int
    planned_days: float
    ettr_target: float
    checkpoint_minutes: float | None = None
    gpus_per_node: int | None = None
    given: Mapping[str, float] = field(default_factory=dict)
    cluster_costs: Mapping[str, float] = field(default_factory=dict)

    def cost(self, name: str) -> float:
        """Return the given value, else the known one, else the usual one."""
        return self.given.get(name, self.cluster_costs.get(name, USUAL[name]))

    def source(self, name: str) -> Literal["given", "cluster", "usual"]:
        """Return the source of a cost."""
        return "given" if name in self.given else "cluster" if name in self.cluster_costs else "usual"

    def with_cost(self, name: str, value: float) -> RunToPlan:
        """Return the same run with another cost."""
        return replace(self, given={**self.given, name: value})

    @property
    def costs(self) -> dict[str, float]:
        """The costs as parameters of `plan_checkpoints`."""
        names = ("restart_minutes", "write_minutes", "queue_minutes", "spare_count")
        return {name: self.cost(name) for name in names} | {"repair_days": self.cost("repair_hours") / 24}

    def without_spare(self, per_day: float) -> float:
        """Return the probability that a failure finds no spare node, at this number of failures per day."""
        return float(probability_without_spare(per_day, self.cost("repair_hours") / 24, self.cost("spare_count")))

    def costs_at(self, per_day: float) -> dict[str, float]:
        """Return the costs as parameters of `expected_ettr`: with a spare node, there is no wait in the queue."""
        wait = self.cost("queue_minutes") * self.without_spare(per_day)
        return {name: self.cost(name) for name in ("restart_minutes", "write_minutes")} | {"queue_minutes": wait}


def minutes_of(text: str) -> float:
    """Return the minutes of a duration such as 30s, 5m or 1h30m, as DuckDB parses intervals; a number needs a unit.

    >>> minutes_of("30s"), minutes_of("1h30m"), minutes_of("0")
    (0.5, 90.0, 0.0)
    """
    # A bound parameter makes DuckDB import pandas, which takes longer than the whole answer.
    with duckdb.connect() as con:
        try:
            rows = con.execute(f"select epoch(try_cast({literal(text)} as interval)) / 60").fetchall()
        except duckdb.Error:
            rows = [(None,)]
    minutes = rows[0][0]
    is_bare = text.strip().replace(".", "").isdigit()
    if minutes is None or minutes < 0 or (is_bare and minutes > 0):
        raise ValueError(f"'{text}' is no duration; write 30s, 5m or 1h")
    return float(minutes)


def spares_of(text: str) -> float:
    """Return a number of spare nodes.

    >>> spares_of("none"), spares_of("4")
    (0.0, 4.0)
    """
    if text != "none" and not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ValueError(f"'{text}' is no number of nodes; write 4, or none")
    return 0.0 if text == "none" else float(text)
