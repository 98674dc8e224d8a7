"""Lemons planted in the simulated rsc1 and looked for in a refresh: `python -m tests.proof.simulated_lemons`.

rsc1's own lemons fail hundreds of times as often as its other nodes. Here they fail so many times as often as the whole
fleet, whose mean rate is the paper's 6.5 per 1,000 node-days, and every other fault but theirs is left out.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from assets.simulation import simulate
from assets.simulation.clusters import read_cluster
from assets.simulation.profiles import Profile
from orchestration.settings.home import Home
from tests.conftest import refresh

RSC1 = read_cluster("rsc1")
FLEET_RATE = 0.0065
"""Mean rate of all nodes, failures per node-day: the paper's for RSC-1."""


@dataclass(frozen=True)
class Found:
    """One list: its names, those that are lemons, and the lemons there are."""

    listed: int
    right: int
    lemons: int

    @property
    def precision(self) -> float:
        """Right names among all names."""
        return self.right / self.listed if self.listed else float("nan")

    @property
    def recall(self) -> float:
        """Lemons that are named among all lemons."""
        return self.right / self.lemons


def with_lemons(factor: float) -> Profile:
    """Give rsc1 with 24 lemons that fail `factor` times as often as the fleet on average, and no bursts."""
    count = len(RSC1.lemons)
    normal = FLEET_RATE * (RSC1.node_count - factor * count) / (RSC1.node_count - count)
    lemons = tuple(
        replace(lemon, position=(number + 0.5) / count, rate=factor * FLEET_RATE)
        for number, lemon in enumerate(RSC1.lemons)
    )
    return replace(RSC1, fault_rate=normal, lemons=lemons, bursts=())


def find_lemons(root: Path, factor: float, days: int, seed: int) -> Found:
    """Simulate into an empty folder, refresh, and hold the list against the truth."""
    home = Home.at(root)
    simulate(with_lemons(factor), home.root, days=days, seed=seed, sources_dir=home.sources)
    refresh(home)
    with duckdb.connect(str(home.published_file), read_only=True) as con:
        row = con.execute(
            "select count(*) filter (verdict = 'lemon'), count(*) filter (verdict = 'lemon' and is_lemon),"
            " count(*) filter (is_lemon) from read_parquet($1) as planted"
            " left join estimates.est_lemon_nodes as listed on listed.node_id = planted.node",
            [str(home.root / "truth" / "rsc1" / "nodes.parquet")],
        ).fetchone()
    return Found(*row or (0, 0, 0))


def main() -> None:
    """Print the lists of some seeds."""
    parser = argparse.ArgumentParser(prog="python -m tests.proof.simulated_lemons", description=__doc__)
    parser.add_argument("--factor", type=float, default=10.0, help="times the fleet's mean rate [10]")
    parser.add_argument("--days", type=int, default=90, help="length of the logs [90]")
    parser.add_argument("--seeds", type=int, default=3, help="clusters [3]")
    options = parser.parse_args()
    for seed in range(1, options.seeds + 1):
        with tempfile.TemporaryDirectory() as folder:
            found = find_lemons(Path(folder), options.factor, options.days, seed)
        print(
            f"seed {seed}: {found.listed} named, {found.right} of them lemons, of {found.lemons}: "
            f"precision {found.precision:.2f}, recall {found.recall:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
