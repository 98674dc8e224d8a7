"""Simulates both clusters of the paper in memory, each in a process of its own, and compares them with the paper."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np

from assets.simulation.clusters import read_cluster
from assets.simulation.engine import simulate_cluster
from assets.simulation.ledger import Ledger
from assets.simulation.profiles import Profile
from tests.calibration.clusters import Totals, compare, total
from tests.calibration.observed import Observed
from tests.calibration.rows import Row
from tests.calibration.sheets import calibrate_observed

CLUSTERS = ("rsc1", "rsc2")
_shares: Any = None


@dataclass(frozen=True)
class Calibrated:
    """The rows of one cluster and what the comparison needs of it."""

    rows: list[Row]
    totals: Totals


def simulate_profile(profile: Profile, seed: int, progress: Callable[[float], None] = lambda share: None) -> Ledger:
    """Simulate a cluster in memory. The seed that wrote its logs gives the same ledger."""
    return simulate_cluster(profile, np.random.default_rng([seed, *profile.cluster_id.encode()]), progress)


def calibrate_profile(
    profile: Profile, seed: int, progress: Callable[[float], None] = lambda share: None
) -> Calibrated:
    """Simulate a cluster and compare it with the paper."""
    seen = Observed(profile, simulate_profile(profile, seed, progress))
    return Calibrated(calibrate_observed(seen), total(seen))


def _listen(shares: Any) -> None:
    """Remember in a process of the pool where to report its progress."""
    global _shares  # noqa: PLW0603 - a pool hands shared memory to its processes only when it starts them
    _shares = shares


def _calibrate(number: int, profile: Profile, seed: int) -> Calibrated:
    def tell(share: float) -> None:
        _shares[number] = share

    return calibrate_profile(profile, seed, tell)


def calibrate_clusters(
    scale: float, days: int | None, seed: int, tell: Callable[[dict[str, float]], None] = lambda shares: None
) -> list[Row]:
    """Simulate both clusters side by side and give all rows.

    Parameters
    ----------
    scale, days
        The part to simulate: a factor on the number of nodes, and the days, or None for all.
    seed
        Same seed, same rows.
    tell
        Called every second with the share of each cluster's time that has passed.
    """
    profiles = [read_cluster(cluster).resized(days, scale) for cluster in CLUSTERS]
    context = get_context("spawn")
    shares = context.Array("d", len(profiles))
    with ProcessPoolExecutor(len(profiles), context, _listen, (shares,)) as pool:
        futures = [pool.submit(_calibrate, number, profile, seed) for number, profile in enumerate(profiles)]
        while not all(future.done() for future in futures):
            tell(dict(zip(CLUSTERS, shares[:], strict=True)))
            time.sleep(1)
        first, second = (future.result() for future in futures)
    return first.rows + second.rows + compare(first.totals, second.totals)
