"""A new driver keeps a part of the faults of a cause away from nodes that have it, and the kernel log shows it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from assets.simulation import simulate
from assets.simulation.causes import BY_CATEGORY
from assets.simulation.clusters import read_cluster
from assets.simulation.engine import simulate_cluster
from assets.simulation.profiles import DAY, Burst, DriverRollout
from tests.simulation.simulated import Simulated

ROLLOUT = DriverRollout(10, "550.54.15", share=0.5, spread_days=2, category="ib_link", factor=0.25)
PROFILE = replace(
    read_cluster("demo-llm").resized(20, 1.0), bursts=(Burst(0, 20, "ib_link", 0.5),), driver_rollouts=(ROLLOUT,)
)


def test_a_part_of_the_faults_stays_away_after_the_roll_out_alone() -> None:
    faults = simulate_cluster(PROFILE, np.random.default_rng(3), lambda share: None).faults
    at, node = faults["at"], faults["node"]
    is_of_cause = faults["cause"] == BY_CATEGORY["ib_link"]
    half = PROFILE.node_count // 2
    before, after, others = (
        int((is_of_cause & (at >= low * DAY) & (at < low * DAY + 8 * DAY) & side).sum())
        for low, side in ((0, node < half), (12, node < half), (12, node >= half))
    )
    assert before > 80
    assert 0.1 < after / before < 0.45
    assert 0.7 < others / before < 1.4


def test_the_kernel_log_tells_the_version_of_every_load(tmp_path: Path) -> None:
    made = Simulated(simulate(replace(PROFILE, cluster_id="drivers"), tmp_path, days=14, seed=2).clusters[0])
    loads = [line for line in made.text("kernel/*.log") if "NVRM: loading NVIDIA" in line]
    nodes = {version: {line.split()[1] for line in loads if version in line} for version in ("535.104.05", "550.54.15")}
    assert len(nodes["535.104.05"]) == 64
    assert len(nodes["550.54.15"]) == 32
    truth = made.truth("driver_rollouts")
    assert {row["node"] for row in truth} == nodes["550.54.15"]
    assert {(row["version"], row["category"], row["factor"]) for row in truth} == {("550.54.15", "ib_link", 0.25)}
