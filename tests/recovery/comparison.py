"""A published warehouse against the truth of the simulation it was made from: files in, frozen numbers out.

The questions are SQL, one file each: `scores/` count what was published, planted and both, `shares/` parts of a whole.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

HERE = Path(__file__).parent
SCORES = (
    "attempts",
    "failures",
    "attribution",
    "visible_causes",
    "true_causes",
    "culprits",
    "incidents",
    "instigators",
    "outages",
    "job_runs",
)
SHARES = ("unseen", "blame", "incident_counts", "rate_changes", "productive_time")


@dataclass(frozen=True)
class Score:
    """How many were published and planted, and how many of the published are the planted ones."""

    item: str
    published: int
    planted: int
    recovered: int

    @property
    def precision(self) -> float | None:
        """Share of the published that is right; None when nothing was published."""
        return self.recovered / self.published if self.published else None

    @property
    def recall(self) -> float | None:
        """Share of the planted that was found; None when nothing was planted."""
        return self.recovered / self.planted if self.planted else None


@dataclass(frozen=True)
class Share:
    """A part of a whole; as a ratio None when there is no whole."""

    item: str
    count: int
    total: int

    @property
    def ratio(self) -> float | None:
        """Part over whole."""
        return self.count / self.total if self.total else None


@dataclass(frozen=True)
class Rate:
    """Failures per 1,000 node-days of one population.

    Attributes
    ----------
    rate, low, high
        As published, with the 90% interval.
    true_rate
        Failures that happened over the node-days that were, whether the logs show them or not.
    visible_failure_count
        The failures among them that the logs show.
    planted_rate
        The rate at which faults were drawn on the nodes that these attempts held; None where that is not defined.
    """

    population: str
    failure_count: int
    node_days: float
    rate: float
    low: float
    high: float
    true_failure_count: int
    visible_failure_count: int
    true_node_days: float
    true_rate: float
    planted_rate: float | None

    @property
    def visible_rate(self) -> float:
        """Failures that the logs show over the node-days that were."""
        return 1000 * self.visible_failure_count / self.true_node_days

    def holds(self, rate: float) -> bool:
        """Tell whether a rate lies inside the published interval."""
        return self.low <= rate <= self.high


@dataclass(frozen=True)
class Comparison:
    """Everything that was compared, by the name of the question."""

    planted: dict[str, Any]
    scores: dict[str, tuple[Score, ...]]
    shares: dict[str, tuple[Share, ...]]
    rates: tuple[Rate, ...]

    def score(self, question: str, item: str) -> Score:
        """Give one score by its question and item."""
        return {score.item: score for score in self.scores[question]}[item]

    def share(self, question: str, item: str) -> Share:
        """Give one share by its question and item."""
        return {share.item: share for share in self.shares[question]}[item]

    def rate(self, population: str) -> Rate:
        """Give the rate of one population."""
        return {rate.population: rate for rate in self.rates}[population]


def _rows(con: duckdb.DuckDBPyConnection, path: str) -> list[dict[str, Any]]:
    answer = con.execute((HERE / path).read_text(encoding="utf-8"))
    names = [column[0] for column in answer.description or ()]
    return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]


def compare(published: Path, truth: Path) -> Comparison:
    """Compare a published warehouse with the truth of one of its clusters.

    Parameters
    ----------
    published
        The DuckDB file; it may hold other clusters too.
    truth
        The cluster's folder of truth: Parquet files and `planted.json`.
    """
    planted = json.loads((truth / "planted.json").read_text(encoding="utf-8"))
    with duckdb.connect() as con:
        con.execute("set timezone = 'UTC'")
        con.execute(f"attach '{str(published).replace(chr(39), chr(39) * 2)}' as published (read_only)")
        con.execute("set variable truth = ?", [str(truth)])
        con.execute("set variable cluster_id = ?", [planted["cluster_id"]])
        con.execute((HERE / "truth.sql").read_text(encoding="utf-8"))
        return Comparison(
            planted=planted,
            scores={name: tuple(Score(**row) for row in _rows(con, f"scores/{name}.sql")) for name in SCORES},
            shares={name: tuple(Share(**row) for row in _rows(con, f"shares/{name}.sql")) for name in SHARES},
            rates=tuple(Rate(**row) for row in _rows(con, "rates.sql")),
        )
