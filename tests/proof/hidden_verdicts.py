"""Suspects in clusters without a bad node, and "on none of the nodes" in clusters with one that should be found.

Drawn are jobs by user and node: how many there were, and how many failed at once or timed out.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from assets.estimates.est_hidden_failures import SUSPICIONS, with_suspects
from assets.model.power import LARGEST_ODDS

NODES, USERS = 60, 12
NO_IDLE = pd.DataFrame({"cluster_id": []})


def _cluster(rng: np.random.Generator, number: int, jobs: float, bad_odds: float = 1.0) -> pd.DataFrame:
    """Draw a cluster with a mean number of comparable jobs a node; node 0 has `bad_odds` times the odds of bad ends."""
    user, node = (axis.ravel() for axis in np.meshgrid(np.arange(USERS), np.arange(NODES), indexing="ij"))
    odds = rng.uniform(0.05, 0.3, USERS)[user] * np.where(node == 0, bad_odds, 1.0)
    ends = rng.poisson(jobs / USERS, user.size)
    kept = ends > 0
    frame = pd.DataFrame({"user_key": [f"u{one}" for one in user], "node_id": [f"n{one}" for one in node]})
    frame = frame.assign(cluster_id=f"c{number}", stratum=frame["user_key"], end_count=ends, weight=ends, node_count=1)
    for kind in SUSPICIONS:
        bad = rng.binomial(ends, odds / (1.0 + odds))
        frame = frame.assign(**{f"is_{kind}": bad, f"weight_is_{kind}": bad, f"attempts_is_{kind}": bad})
    return frame[kept].reset_index(drop=True)


def _judged(clusters: int, seed: int, bad_odds: float) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    jobs = rng.choice([6.0, 40.0, 200.0], clusters)
    return with_suspects(
        pd.concat([_cluster(rng, number, one, bad_odds) for number, one in enumerate(jobs)], ignore_index=True), NO_IDLE
    )


def wrong_verdicts(clusters: int = 200, seed: int = 80) -> int:
    """Count the clusters in which a node is a suspect and none is bad."""
    rows = _judged(clusters, seed, 1.0)
    return int(rows[rows["is_suspect"].astype(bool)]["cluster_id"].nunique())


def missed(clusters: int = 200, seed: int = 81) -> tuple[int, int]:
    """Count the bad nodes of `LARGEST_ODDS` that were missed among those on which they would be found."""
    rows = _judged(clusters, seed, LARGEST_ODDS)
    bad = rows[(rows["node_id"] == "n0") & (rows["detectable_effect"] <= LARGEST_ODDS)]
    return int((~bad["is_suspect"].astype(bool)).sum()), len(bad)
