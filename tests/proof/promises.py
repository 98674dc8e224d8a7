"""How often a verdict is wrong where nothing is planted: 200 drawn clusters for each estimate that promises 5%."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from tests.proof import change_verdicts, check_verdicts, hidden_verdicts, repair_verdicts

CLUSTERS = 200
MAX_WRONG_COUNT = 17
"""Of 200 clusters in which each verdict is wrong by a chance of 5%, 18 or more are wrong 1.2% of the time."""


@dataclass(frozen=True)
class Promise:
    """An estimate, the function that counts its wrong verdicts in a number of clusters, and what is drawn."""

    table: str
    wrong_verdicts: Callable[[int], int]
    drawn: str

    @cached_property
    def wrong(self) -> int:
        """Clusters with a wrong verdict."""
        return self.wrong_verdicts(CLUSTERS)

    @property
    def is_kept(self) -> bool:
        """Whether chance explains the wrong verdicts."""
        return self.wrong <= MAX_WRONG_COUNT


PROMISES = (
    Promise(
        "est_changes",
        change_verdicts.wrong_verdicts,
        "A driver that does nothing, on all nodes or half of them; months differ by a CV of 0.2 to 0.5",
    ),
    Promise(
        "est_check_scores",
        check_verdicts.wrong_verdicts,
        "Five checks whose onsets have nothing to do with faults, in clusters of 8 to 300 nodes",
    ),
    Promise(
        "est_check_scores, right checks",
        check_verdicts.wrongly_dropped,
        "Five checks whose onsets come true after minutes to a day",
    ),
    Promise(
        "est_repairs",
        repair_verdicts.wrong_verdicts,
        "Two actions that do the same, where some nodes fail 8 to 30 times as often and mostly get the cheap one",
    ),
    Promise(
        "est_hidden_failures",
        hidden_verdicts.wrong_verdicts,
        "60 nodes with 6, 40 or 200 jobs of 12 users whose odds of bad ends differ; no node is bad",
    ),
)


def promise_rows() -> list[tuple[str, ...]]:
    """Return the rows of the page."""
    return [
        (f"`{promise.table}`", promise.drawn, f"{promise.wrong}{'' if promise.is_kept else ' **missed**'}")
        for promise in PROMISES
    ]
