"""Verdicts on changes that do nothing, in clusters whose months differ by themselves.

Drawn are the incidents of 100 nodes by day. The rates of months of 30 days have a coefficient of variation of 0.2 to
0.5, and in a staged roll-out both groups of nodes have the same good and bad months.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from assets.estimates.est_changes import with_verdicts
from assets.model.change_effects import HELPED, HURT

NODES, DAYS, CHANGED_ON = 100, 200, 100
CAUSES = {"pcie": 1.0, "ib_link": 0.6, "gpu_memory": 0.3, "filesystem_mount": 0.1}
"""Incidents a day."""
NO_SEARCH = pd.DataFrame({"cluster_id": [], "changed_at": pd.Series([], dtype="datetime64[us]")})
AT = pd.Timestamp("2026-01-01")


def _change(kind: str, day: int, changed_day: int | None, *, is_of_all: bool = False) -> dict[str, Any]:
    at = AT + pd.Timedelta(days=day)
    words = {"change_kind": kind, "changed_at": at, "last_changed_at": at, "change": kind, "failure_categories": None}
    return words | {"is_of_all": is_of_all, "first_day": day, "last_day": day, "changed_day": changed_day}


def _cluster(rng: np.random.Generator, number: int, ratio: float, share: float) -> pd.DataFrame:
    """Draw a cluster in which a driver changes the first cause, on a share of the nodes, three days after a note."""
    cv = rng.uniform(0.2, 0.5)
    phase = rng.integers(30)
    months = (np.arange(DAYS) + phase) // 30
    rows = []
    factors = {cause: rng.gamma(1.0 / cv**2, cv**2, 10)[months] for cause in CAUSES}
    for part, changed_day in ((share, CHANGED_ON), (1.0 - share, None)):
        if part == 0.0:
            continue
        failed = []
        for cause, rate in CAUSES.items():
            effect = np.where((np.arange(DAYS) >= (changed_day or DAYS)) & (cause == "pcie"), ratio, 1.0)
            count = rng.poisson(part * rate * factors[cause] * effect)
            failed += [(day, cause) for day in np.repeat(np.arange(DAYS), count)]
        days, causes = zip(*failed, strict=True)
        rows.append(
            {
                "cluster_id": f"c{number}",
                "node_count": NODES * part,
                "day_count": DAYS,
                "changes": [
                    _change("annotation", CHANGED_ON - 3, CHANGED_ON - 3, is_of_all=True),
                    _change("driver", CHANGED_ON, changed_day),
                ],
                "days": np.arange(DAYS),
                "node_days": np.full(DAYS, NODES * part),
                "failed_days": np.array(days),
                "causes": np.array(causes, dtype=object),
                "probabilities": np.ones(len(failed)),
            }
        )
    return pd.DataFrame(rows)


def _verdicts(clusters: int, seed: int, ratio: float) -> pd.DataFrame:
    """Judge clusters; every second one has a staged roll-out."""
    rng = np.random.default_rng(seed)
    drawn = [_cluster(rng, number, ratio, 0.5 if number % 2 else 1.0) for number in range(clusters)]
    rows = pd.concat([with_verdicts(cohorts, NO_SEARCH) for cohorts in drawn])
    return rows[rows["verdict"].isin([HELPED, HURT])]


def wrong_verdicts(clusters: int = 200, seed: int = 65) -> int:
    """Count the clusters in which a change that does nothing is said to have helped or hurt."""
    return int(_verdicts(clusters, seed, 1.0)["cluster_id"].nunique())


def found(clusters: int = 40, seed: int = 66, ratio: float = 0.2) -> int:
    """Count the clusters in which a driver that cuts a cause is said to have helped that cause."""
    shown = _verdicts(clusters, seed, ratio)
    return int(shown[(shown["failure_category"] == "pcie") & (shown["verdict"] == HELPED)]["cluster_id"].nunique())
