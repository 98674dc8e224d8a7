"""Repairs that do not work, and nodes that come back untouched, are in the truth and the logs as the profile says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assets.simulation import simulate
from assets.simulation.causes import CAUSES
from assets.simulation.clusters import read_cluster
from assets.simulation.engine import simulate_cluster
from assets.simulation.profiles import Burst, Relapse, Repairs
from assets.simulation.service import BOOT_SECONDS
from tests.simulation.simulated import Row, Simulated

DAYS = 40
PROFILE = replace(
    read_cluster("demo-llm"),
    node_count=32,
    lemons=(),
    shared_faults=(),
    maintenance=(),
    bursts=(Burst(0, DAYS, "gpu_memory", 0.06),),
    repairs=Repairs(relapses=(Relapse("gpu_memory", False, 0.8, 1.0),), untouched=("filesystem_mount",)),
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    return Simulated(simulate(PROFILE, tmp_path_factory.mktemp("relapses"), days=DAYS, seed=2).clusters[0])


@pytest.fixture(scope="module")
def faults(cluster: Simulated) -> dict[int, Row]:
    return {row["fault_number"]: row for row in cluster.truth("faults")}


def test_most_faults_are_back_after_repairs_that_do_not_work_and_after_no_others(
    cluster: Simulated, faults: dict[int, Row]
) -> None:
    back = {row["repaired_fault_number"]: faults[row["fault_number"]] for row in cluster.truth("relapses")}
    for number, again in back.items():
        fault = faults[number]
        assert (fault["category"], fault["is_permanent"], fault["node"]) == ("gpu_memory", False, again["node"])
        assert again["category"] == "gpu_memory"
        assert again["fault_epoch"] >= fault["cleared_epoch"]
    limit = max(row["fault_epoch"] for row in faults.values()) - 5 * 86400
    rebooted = [
        number
        for number, row in faults.items()
        if row["category"] == "gpu_memory"
        and not row["is_permanent"]
        and not row["is_false_alarm"]
        and row["is_drained"]
        and (row["cleared_epoch"] or limit) < limit
    ]
    assert len(rebooted) > 20
    assert 0.6 < len(back.keys() & set(rebooted)) / len(rebooted) < 0.95


def test_nodes_that_nobody_touches_come_back_without_a_boot() -> None:
    ledger = simulate_cluster(PROFILE, np.random.default_rng(2), lambda share: None)
    boots = set(zip(ledger.reboots["node"].tolist(), ledger.reboots["at"].tolist(), strict=True))
    is_booted: dict[tuple[str, bool], set[bool]] = {}
    for fault, node, end in zip(*(ledger.outages[name].tolist() for name in ("fault", "node", "end")), strict=True):
        if fault >= 0 and end >= 0:
            kind = CAUSES[ledger.faults["cause"][fault]].category, bool(ledger.faults["is_permanent"][fault])
            is_booted.setdefault(kind, set()).add((node, end - BOOT_SECONDS) in boots)
    assert is_booted["filesystem_mount", False] == {False}
    assert is_booted["gpu_memory", False] == is_booted["gpu_memory", True] == {True}
