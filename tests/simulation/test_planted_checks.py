"""Checks that are noise, and checks that lead, are in the logs and in the truth as the profile plants them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assets.simulation import simulate
from assets.simulation.clusters import read_cluster
from assets.simulation.profiles import Burst, LeadingCheck, NoisyCheck
from tests.simulation.simulated import Row, Simulated

QUIET = replace(
    read_cluster("demo-llm"),
    node_count=32,
    alarm_rate=0.0,
    lemons=(),
    shared_faults=(),
    bursts=(Burst(0, 20, "pcie", 0.05),),
    noisy_checks=(NoisyCheck("link flaps", 0.1),),
    leading_checks=(LeadingCheck("pcie", 240),),
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    return Simulated(simulate(QUIET, tmp_path_factory.mktemp("checks"), days=20, seed=2).clusters[0])


@pytest.fixture(scope="module")
def checks(cluster: Simulated) -> dict[str, Row]:
    return {row["check_name"]: row for row in cluster.truth("checks")}


def test_noise_fails_at_its_rate_and_passes_within_ten_minutes(cluster: Simulated, checks: dict[str, Row]) -> None:
    failed = [row for row in cluster.health() if row["health_check"] == "link flaps" and row["result"] == 2]
    # 64 alarms are to be expected; those of nodes that are out of service or broken are none.
    assert 35 <= checks["link flaps"]["false_count"] <= 85
    assert checks["link flaps"]["true_count"] == 0
    assert len(failed) == checks["link flaps"]["false_count"]
    assert {row["is_false_alarm"] for row in cluster.truth("faults") if row["mechanism"] == "alarm"} == {True}


def test_a_leading_check_fails_so_long_before_the_end_of_the_job(cluster: Simulated, checks: dict[str, Row]) -> None:
    ends = [row for row in cluster.truth("failures") if row["true_category"] == "pcie"]
    crashed = [row for row in ends if row["has_evidence"] and row["state"] == "FAILED"]
    failing = {
        (row["node"], int(row["start_time"]))
        for row in cluster.health()
        if (row["health_check"], row["result"]) == ("check pci", 2)
    }
    assert len(crashed) > 10
    assert all((row["culprit_node"], row["failed_epoch"] - 240) in failing for row in crashed)
    assert checks["check pci"]["lead_seconds"] == 240
    assert {row["mechanism"] for row in ends} == {"crash"}
