"""The simulated month of the standing test, and how it is made: simulated, refreshed, compared with its truth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assets.simulation import simulate
from orchestration.home import Home
from tests.conftest import refresh
from tests.recovery.comparison import Comparison, compare

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


def truths(home: Home) -> list[Path]:
    """Give the folders of planted truth of a home, one per simulated cluster."""
    return sorted(path.parent for path in home.root.glob("truth/*/planted.json"))


def recover(month: Month, home: Home) -> list[Comparison]:
    """Simulate into a home, refresh it, and compare each simulated cluster with what was planted."""
    simulate(
        month.profile,
        home.root,
        days=month.days,
        scale=month.scale,
        seed=month.seed,
        sources_dir=home.sources,
        truth_dir=home.root / "truth",
    )
    refresh(home)
    return [compare(home.published_file, truth) for truth in truths(home)]
