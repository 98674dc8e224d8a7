"""What is simulated for the standing test and for the page: simulated, refreshed, compared with its truth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assets.simulation import simulate
from assets.simulation.clusters import read_cluster
from assets.simulation.profiles import Profile
from orchestration.settings.home import Home
from tests.conftest import refresh
from tests.recovery.comparison import Comparison, compare
from tests.recovery.harder import harder

CLUSTERS = ("demo-llm", "demo-vision")
"""The clusters of the default month; each has its tests."""


@dataclass(frozen=True)
class Month:
    """What is simulated. A 90% interval misses the planted rate in one seed of ten, by definition.

    The default is two months, on clusters of twice their size; at first no check finds lost mounts.
    """

    profile: str = "demo"
    days: int = 60
    scale: float = 2.0
    seed: int = 1


RSC2 = read_cluster("rsc2")
LEVELS = (RSC2, harder(RSC2, "default"), harder(RSC2, "hard"))
"""One cluster three times, from easy to hard to read."""


@dataclass(frozen=True)
class Levels:
    """How much of the clusters of `LEVELS` is simulated; a scale of 0 leaves them out."""

    days: int = 334
    scale: float = 0.1
    seed: int = 1


def truths(home: Home) -> list[Path]:
    """Give the folders of planted truth of a home, one per simulated cluster."""
    return sorted(path.parent for path in home.root.glob("truth/*/planted.json"))


def recover(month: Month, home: Home) -> list[Comparison]:
    """Simulate into a home, refresh it, and compare each simulated cluster with what was planted."""
    simulate_month(month, home)
    refresh(home)
    return compare_month(home)


def simulate_month(month: Month, home: Home) -> None:
    """Simulate the logs and the truth into a home."""
    _simulate(month.profile, month, home)


def compare_month(home: Home) -> list[Comparison]:
    """Compare each simulated cluster of a refreshed home with what was planted."""
    return [compare(home.published_file, truth) for truth in truths(home)]


def recover_levels(levels: Levels, home: Home) -> list[Comparison]:
    """Do the same for the clusters of `LEVELS`, in one refresh; comparisons come in their order."""
    if not levels.scale:
        return []
    for profile in LEVELS:
        _simulate(profile, levels, home)
    refresh(home)
    return [compare(home.published_file, home.root / "truth" / profile.cluster_id) for profile in LEVELS]


def _simulate(profile: str | Profile, size: Month | Levels, home: Home) -> None:
    simulate(
        profile,
        home.root,
        days=size.days,
        scale=size.scale,
        seed=size.seed,
        sources_dir=home.sources,
        truth_dir=home.root / "truth",
    )
