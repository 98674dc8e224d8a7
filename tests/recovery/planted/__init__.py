"""What is planted to be found by one estimate: clusters with it and clusters without, and what a refresh finds.

Every module here is one question. It has three names:

* `TITLE`: heading of its part of the page;
* `CLUSTERS`: the clusters to simulate, with it and without;
* `compare(con, truth)`: lines of the page, from the published tables and the folder with a folder of truth per cluster.

The clusters of all questions are refreshed together. `python -m tests.recovery.planted QUESTION` does one alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import duckdb

from assets.simulation import simulate
from assets.simulation.profiles import Profile
from orchestration.settings.home import Home
from tests.conftest import refresh
from tests.docs.writers.pages import table
from tests.recovery.cells import percent

FOUND_BY_CHANCE = 0.1
"""Largest share of the clusters where nothing is planted in which something may be found."""


@dataclass(frozen=True)
class Planted:
    """A cluster to simulate. Its `cluster_id` is that of the profile, unique among all questions."""

    profile: Profile
    days: int
    scale: float = 1.0
    seed: int = 1


@dataclass(frozen=True)
class Line:
    """A part of a whole, and what it must be at least or at most, as a ratio."""

    item: str
    count: float
    total: float
    at_least: float | None = None
    at_most: float | None = None

    @property
    def ratio(self) -> float | None:
        """Part over whole; None when there is no whole."""
        return self.count / self.total if self.total else None

    @property
    def holds(self) -> bool:
        """Whether the demand is met. A demand on nothing is not: it was not tried."""
        if self.at_least is None and self.at_most is None:
            return True
        if self.ratio is None:
            return False
        return (self.at_least is None or self.ratio >= self.at_least) and (
            self.at_most is None or self.ratio <= self.at_most
        )

    @property
    def demand(self) -> str:
        """Say what is asked for."""
        parts = [
            f"{word} {percent(limit)}"
            for word, limit in (("at least", self.at_least), ("at most", self.at_most))
            if limit is not None
        ]
        return ", ".join(parts) or "-"


@dataclass(frozen=True)
class Question:
    """A module of this folder."""

    name: str
    title: str
    clusters: tuple[Planted, ...]
    compare: Callable[[duckdb.DuckDBPyConnection, Path], list[Line]]


def questions(*names: str) -> list[Question]:
    """Give the questions with these names, or all in the order of their names."""
    here = [found.name for found in iter_modules(__path__) if found.name != "__main__"]
    modules = [(name, import_module(f"{__name__}.{name}")) for name in names or here]
    return [Question(name, module.TITLE, module.CLUSTERS, module.compare) for name, module in modules]


def recover_planted(asked: Iterable[Question], home: Home) -> dict[str, list[Line]]:
    """Simulate the clusters of questions into a home, refresh it once, and give the lines by question."""
    asked = list(asked)
    if not asked:
        return {}
    truth = home.root / "truth"
    for cluster in (cluster for question in asked for cluster in question.clusters):
        simulate(
            cluster.profile,
            home.root,
            days=cluster.days,
            scale=cluster.scale,
            seed=cluster.seed,
            sources_dir=home.sources,
            truth_dir=truth,
        )
    refresh(home)
    with duckdb.connect(home.published_file, read_only=True) as con:
        return {question.name: question.compare(con, truth) for question in asked}


def planted_part(asked: Iterable[Question], lines: dict[str, list[Line]]) -> list[str]:
    """Write a part of the page for each question."""
    parts = []
    for question in asked:
        rows = (
            (line.item, f"{line.count:,.10g}", f"{line.total:,.10g}", percent(line.ratio), line.demand)
            for line in lines[question.name]
        )
        parts += [f"## {question.title}\n", table(("", "count", "of", "ratio", "asked for"), rows)]
    return parts
