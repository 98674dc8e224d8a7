"""What is simulated for the standing test and for the page: simulated, refreshed, compared with its truth."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assets.rows import rows_of
from assets.simulation import simulate
from assets.simulation.clusters import read_cluster
from assets.simulation.profiles import Profile
from orchestration.settings.home import Home
from tests.conftest import refresh
from tests.recovery.harder import harder
from tests.truth import scorer
from tests.truth.claims import SIMULATED
from tests.truth.scorer import Claim, Measure

CLUSTERS = ("demo-llm", "demo-vision")
"""The clusters of the default month; each has its tests."""
RSC2 = read_cluster("rsc2")
LEVELS = (RSC2, harder(RSC2, "default"), harder(RSC2, "hard"))
"""One cluster three times, from easy to hard to read."""


@dataclass(frozen=True)
class Month:
    """What is simulated. A 90% interval misses the planted rate in one seed of ten, by definition.

    The default is two months, on clusters of twice their size; at first no check finds lost mounts.
    """

    profile: str = "demo"
    days: int = 60
    scale: float = 2.0
    seed: int = 1


OF_LEVELS = Month("rsc2", days=334, scale=0.1)
"""How much of the clusters of `LEVELS` is simulated; a scale of 0 leaves them out."""


@dataclass(frozen=True)
class Comparison:
    """What was planted in a cluster, the measures of all claims by their items, and the published rates."""

    planted: dict[str, Any]
    measures: dict[str, tuple[Measure, ...]]
    rates: list[dict[str, Any]]

    def measure(self, item: str) -> Measure:
        """Give the measure of a claim that has one."""
        (found,) = self.measures[item]
        return found


def compare(published: Path, truth: Path, claims: Iterable[Claim] = SIMULATED) -> Comparison:
    """Compare a published file, which may hold other clusters too, with the folder of truth of one of its clusters."""
    planted = json.loads((truth / "planted.json").read_text(encoding="utf-8"))
    with scorer.opened(published, planted["cluster_id"]) as con:
        con.execute("set variable truth = ?", [str(truth)])
        con.execute("set variable cluster_id = ?", [planted["cluster_id"]])
        for name in ("simulated_truth", "failures", "simulated"):
            scorer.run(con, scorer.HERE / f"{name}.sql")
        return Comparison(planted, scorer.judged(con, claims), rows_of(con, "from judged.rates"))


def compare_month(home: Home) -> list[Comparison]:
    """Compare each simulated cluster of a refreshed home with what was planted."""
    truths = sorted(path.parent for path in home.root.glob("truth/*/planted.json"))
    return [compare(home.published_file, truth) for truth in truths]


def simulate_month(month: Month, home: Home) -> None:
    """Simulate the logs and the truth into a home."""
    simulate_into(home, month.profile, month.days, month.scale, month.seed)


def recover(month: Month, home: Home) -> list[Comparison]:
    """Simulate into a home, refresh it, and compare each simulated cluster with what was planted."""
    simulate_month(month, home)
    refresh(home)
    return compare_month(home)


def recover_levels(levels: Month, home: Home) -> list[Comparison]:
    """Do the same for the clusters of `LEVELS`, in one refresh; comparisons come in their order."""
    if not levels.scale:
        return []
    for profile in LEVELS:
        simulate_into(home, profile, levels.days, levels.scale, levels.seed)
    refresh(home)
    return [compare(home.published_file, home.root / "truth" / profile.cluster_id) for profile in LEVELS]


def simulate_into(home: Home, profile: str | Profile, days: int, scale: float, seed: int) -> None:
    """Simulate logs into the sources of a home, and their truth next to them."""
    truth = home.root / "truth"
    simulate(profile, home.root, days=days, scale=scale, seed=seed, sources_dir=home.sources, truth_dir=truth)
