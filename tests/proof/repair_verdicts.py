"""Verdicts on two actions that do the same, in fleets where sick nodes get the cheap one first or more often."""

from __future__ import annotations

import numpy as np
import pandas as pd

from assets.estimates.est_repairs import ALL, with_relapses
from assets.model.repairs import CANNOT_TELL, HOLDS_LONGER

RATE = 0.01
"""Failures a day of a node that is not sick."""
CHEAP, DEAR = "reset", "exchange"
FLEETS = (
    {"nodes": 80, "sick": 6, "times": 8.0, "days": 200},
    {"nodes": 80, "sick": 6, "times": 15.0, "days": 200},
    {"nodes": 80, "sick": 6, "times": 30.0, "days": 200},
    {"nodes": 80, "sick": 20, "times": 8.0, "days": 200, "cheap_if_sick": 0.95, "cheap": 0.3},
    {"nodes": 400, "sick": 20, "times": 12.0, "days": 200, "cheap_if_sick": 0.95, "cheap": 0.3},
)
"""Without shares, the first two repairs of a sick node are cheap, and other repairs either by chance."""


def _fleet(
    rng: np.random.Generator,
    number: int,
    *,
    nodes: int,
    sick: int,
    times: float,
    days: int,
    cheap_if_sick: float = np.nan,
    cheap: float = 0.5,
    ratio: float = 1.0,
) -> pd.DataFrame:
    """Draw the repairs of a fleet; after a dear one the node fails `ratio` times as often as it did."""
    rows = []
    for node in range(nodes):
        is_sick, at, seen = node < sick, 0.0, []
        rate = RATE * (times if is_sick else 1.0)
        while (at := at + rng.exponential(1.0 / (rate * (ratio if seen and seen[-1][1] == DEAR else 1.0)))) < days:
            is_first = is_sick and np.isnan(cheap_if_sick) and len(seen) < 2
            share = cheap_if_sick if is_sick and not np.isnan(cheap_if_sick) else cheap
            seen.append((at, CHEAP if is_first or rng.random() < share else DEAR))
        for place, (began, action) in enumerate(seen):
            is_relapse = place + 1 < len(seen)
            rows.append(
                {
                    "cluster_id": f"c{number}",
                    "node_id": f"n{node}",
                    "failure_category": "pcie",
                    "repair_action": action,
                    "is_relapse": is_relapse,
                    "hours": 2.0,
                    "days": (seen[place + 1][0] if is_relapse else days) - began,
                    "earlier_count": sum(0.0 < began - other <= 30.0 for other, _ in seen[:place]),
                    "records_days": np.nan,
                }
            )
    return pd.DataFrame(rows)


def wrong_verdicts(clusters: int = 200, seed: int = 70) -> int:
    """Count the fleets in which one of two actions that do the same is said to be better or worse."""
    rng = np.random.default_rng(seed)
    drawn = [_fleet(rng, number, **FLEETS[number % len(FLEETS)]) for number in range(clusters)]
    judged = with_relapses(pd.concat(drawn))
    return int(judged[judged["verdict"] != CANNOT_TELL]["cluster_id"].nunique())


def found(clusters: int = 50, seed: int = 71) -> int:
    """Count the fleets in which an exchange after which a node fails 0.3 times as often is said to hold longer."""
    rng = np.random.default_rng(seed)
    fleet = {"nodes": 80, "sick": 20, "times": 8.0, "days": 200, "ratio": 0.3}
    judged = with_relapses(pd.concat([_fleet(rng, number, **fleet) for number in range(clusters)]))
    is_found = judged["verdict"].isin([HOLDS_LONGER, "try first"]) & (judged["repair_action"] == DEAR)
    return int(judged[is_found & (judged["failure_category"] != ALL)]["cluster_id"].nunique())
