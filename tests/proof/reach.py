"""Trials of how far evidence reaches: fleets in which it is known what was missed, and what was late."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from assets.model.evidence_reach import Count, Sources, evidence_reach, late_excess, two_sources, unexplained_bound
from tests.proof.trial import Outcome, Trial, at_least, conservative

Run = Callable[[np.random.Generator, int], Outcome]

FAULTS = (60, 25, 6, 4)
"""Of four categories."""
NODES, ENDS, MISSED = np.array([1, 2, 8, 32]), np.array([800, 150, 60, 20]), 25
"""Ends of users by nodes, and ends by faults that are seen late."""


def seen_by(kernel: float, checks: float) -> Run:
    """Faults that kernel messages and checks see independently, with these chances."""

    def run(rng: np.random.Generator, rounds: int) -> Outcome:
        held, found = [], []
        for _ in range(rounds):
            sides = [rng.random((2, count)) < np.array([[kernel], [checks]]) for count in FAULTS]
            categories = [
                Sources(str(number), *(float(np.sum(part)) for part in (k & c, k & ~c, c & ~k)))
                for number, (k, c) in enumerate(sides)
            ]
            seen = sum(category.compared for category in categories)
            reach = evidence_reach(seen, Count(0.0, 0.0, 0.0), two_sources(categories))
            true = seen / sum(FAULTS)
            held.append(reach.low <= true + 1e-9 and true <= reach.high + 1e-9)
            found.append(reach.value / true)
        return Outcome(np.array(held), np.array(found), 1.0)

    return run


def late_by(chance: float) -> Run:
    """Late evidence of faults among ends of users, whose nodes see an onset with this chance."""

    def run(rng: np.random.Generator, rounds: int) -> Outcome:
        found = []
        for _ in range(rounds):
            seen = MISSED + int(rng.binomial(ENDS, 1 - (1 - chance) ** NODES).sum())
            hits = int(rng.binomial(12_000, chance))
            found.append(late_excess(NODES, ENDS, seen, control_hits=hits, control_onsets=hits, control_windows=12_000))
        low, value, high = (np.array([getattr(late, name) for late in found]) for name in ("low", "value", "high"))
        return Outcome.of(low, value, high, MISSED)

    return run


def grown_with_nodes(rng: np.random.Generator, rounds: int) -> Outcome:
    """Errors of twelve users that do not grow with nodes, and 4 faults per 1,000 node-days that do."""
    users, classes, nodes = (grid.ravel() for grid in np.meshgrid(range(12), range(4), [1, 4, 16], indexing="ij"))
    days = np.where(nodes == 1, 60, np.where(nodes == 4, 15, 6)) * 2.0**classes / 8
    expected = 0.004 * days * nodes
    held = []
    for _ in range(rounds):
        habits = rng.uniform(0.05, 0.5, (12, 4))[users, classes]
        failed = rng.poisson(days * habits + expected)
        bound = unexplained_bound(users=users, runtime_classes=classes, node_counts=nodes, failed=failed, days=days)
        held.append(bound >= expected.sum())
    return Outcome.of_verdicts(held)


SOURCES, LATE = "share seen, by two sources (`two_sources`)", "ends with late evidence (`late_excess`)"
TRIALS = (
    Trial(SOURCES, "95 faults, seen by 60% and 60%", 0.9, at_least(0.85), 4000, 400, 120, seen_by(0.6, 0.6)),
    Trial(SOURCES, "95 faults, seen by 90% and 70%", 0.9, at_least(0.8), 4000, 400, 121, seen_by(0.9, 0.7)),
    Trial(SOURCES, "95 faults, seen by 97% and 90%", 0.9, at_least(0.9), 4000, 400, 122, seen_by(0.97, 0.9)),
    Trial(LATE, "25 among 1,055, chance 0.05% per node", 0.9, conservative(0.9), 4000, 400, 123, late_by(0.0005)),
    Trial(LATE, "25 among 1,055, chance 2% per node", 0.9, conservative(0.9), 4000, 400, 124, late_by(0.02)),
    Trial(
        "bound on unexplained ends (`unexplained_bound`)", "12 users, 19 faults expected among 550 ends", 0.95,
        at_least(0.88), 1000, 150, 125, grown_with_nodes,
    ),
)  # fmt: skip
