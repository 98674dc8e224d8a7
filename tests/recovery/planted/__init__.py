"""What is planted to be found by one estimate: clusters with it and clusters without, and what a refresh finds.

Every module here is one question. It has four names:

* `TITLE`: heading of its part of the page;
* `CLUSTERS`: the clusters to simulate, with it and without;
* `RELATIONS`: SQL that makes relations of the schema `judged` from the published tables (`published`) and the variable
  `truth`, the folder with a folder of truth for each cluster; or `relate(con)`, which does it in Python;
* `CLAIMS`: what is asked of them.

The clusters of all questions are refreshed together. `python -m tests.recovery --question NAME` does one alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

import duckdb

from assets.simulation.profiles import Profile
from orchestration.settings.home import Home
from tests.conftest import refresh
from tests.recovery.month import simulate_into
from tests.truth.scorer import Claim, Measure, judged, opened

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
class Question:
    """A module of this folder."""

    name: str
    title: str
    clusters: tuple[Planted, ...]
    relate: Callable[[duckdb.DuckDBPyConnection], object]
    claims: tuple[Claim, ...]


def questions(name: str | None = None) -> list[Question]:
    """Give the question with this name, or all in the order of their names."""
    names = [name] if name else [found.name for found in iter_modules(__path__)]
    modules = [(name, import_module(f"{__name__}.{name}")) for name in names]
    return [Question(name, each.TITLE, each.CLUSTERS, _relate(each), each.CLAIMS) for name, each in modules]


def _relate(module: ModuleType) -> Callable[[duckdb.DuckDBPyConnection], object]:
    script = getattr(module, "RELATIONS", None)
    return (lambda con: con.execute(script)) if script else module.relate


def recover_planted(asked: Iterable[Question], home: Home) -> list[tuple[Question, dict[str, tuple[Measure, ...]]]]:
    """Simulate the clusters of questions into a home, refresh it once, and measure what each question asks for."""
    asked = list(asked)
    for cluster in (cluster for question in asked for cluster in question.clusters):
        simulate_into(home, cluster.profile, cluster.days, cluster.scale, cluster.seed)
    refresh(home)
    answers = []
    for question in asked:
        with opened(home.published_file) as con:
            con.execute("set variable truth = ?", [str(home.root / "truth")])
            question.relate(con)
            answers.append((question, judged(con, question.claims)))
    return answers
