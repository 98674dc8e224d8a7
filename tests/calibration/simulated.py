"""Simulates both clusters of the paper in memory, each in a process of its own, and compares them with the paper."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np

from assets.simulation.clusters import read_cluster
from assets.simulation.engine import simulate_cluster
from assets.simulation.profiles import Profile
from tests.calibration.figures import NODES, Totals, calibrate, compare, total
from tests.calibration.observed import Observed
from tests.calibration.rows import Row


def observe_profile(seed: int, profile: Profile) -> Observed:
    """Simulate a cluster in memory. The seed that wrote its logs gives the same ledger."""
    rng = np.random.default_rng([seed, *profile.cluster_id.encode()])
    return Observed(profile, simulate_cluster(profile, rng, lambda share: None))


def calibrate_profile(seed: int, profile: Profile) -> tuple[list[Row], Totals]:
    """Simulate a cluster and compare it with the paper; give what the comparison needs of it as well."""
    seen = observe_profile(seed, profile)
    return calibrate(seen), total(seen)


def calibrate_clusters(scale: float, days: int | None, seed: int) -> list[Row]:
    """Simulate both clusters side by side and give all rows. `scale` and `days` ask for a part of them."""
    profiles = [read_cluster(cluster).resized(days, scale) for cluster in NODES]
    with ProcessPoolExecutor(len(profiles), get_context("spawn")) as pool:
        (first, first_total), (second, second_total) = pool.map(partial(calibrate_profile, seed), profiles)
    return first + second + compare(first_total, second_total)
