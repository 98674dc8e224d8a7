"""Features of some profiles are in the logs and in the truth: places, drivers, checks, hidden faults, relapses."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

from assets.simulation import simulate
from assets.simulation.causes import BY_CATEGORY, CAUSES
from assets.simulation.clusters import read_cluster
from assets.simulation.engine import simulate_cluster
from assets.simulation.ledger import Ledger
from assets.simulation.profiles import (
    DAY,
    Burst,
    DriverRollout,
    HiddenFault,
    LeadingCheck,
    NoisyCheck,
    Relapse,
    Repairs,
)
from assets.simulation.service import BOOT_SECONDS
from assets.simulation.states import FAILED, NODE_FAIL, PREEMPTED, REQUEUED, TIMEOUT
from tests.simulation.simulated import Row, Simulated

DAYS, NODES = 40, 32
DEMO_LLM = read_cluster("demo-llm")
PROFILE = replace(
    DEMO_LLM,
    cluster_id="planted",
    days=DAYS,
    node_count=NODES,
    alarm_rate=0.0,
    checks_introduced=(),
    lemons=(),
    shared_faults=(),
    maintenance=(),
    crash_loops=(),
    bursts=(Burst(0, DAYS, "gpu_memory", 0.06), Burst(0, DAYS, "pcie", 0.08), Burst(0, DAYS, "ib_link", 0.1)),
    repairs=Repairs(relapses=(Relapse("gpu_memory", False, 0.8, 1.0),), untouched=("filesystem_mount",)),
    driver_rollouts=(DriverRollout(20, "550.54.15", share=0.5, spread_days=2, category="ib_link", factor=0.25),),
    noisy_checks=(NoisyCheck("link flaps", 0.05),),
    leading_checks=(LeadingCheck("pcie", 240),),
    hidden_faults=(HiddenFault(0.2, "black_hole", 1.0, first_day=5), HiddenFault(0.6, "hang", 0.5)),
    idle_users=(2,),
    logs=replace(DEMO_LLM.logs, has_job_summaries=True),
    nodes_per_rack=4,
    nodes_per_switch=2,
)


@pytest.fixture(scope="module")
def ledger() -> Ledger:
    return simulate_cluster(PROFILE, np.random.default_rng([2, *b"planted"]), lambda share: None)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    """Return the logs and the truth of the same ledger."""
    return Simulated(simulate(PROFILE, tmp_path_factory.mktemp("planted"), seed=2).clusters[0])


@pytest.fixture(scope="module")
def faults(cluster: Simulated) -> dict[int, Row]:
    return {row["fault_number"]: row for row in cluster.truth("faults")}


def test_nodes_stand_in_racks_and_at_switches_where_a_profile_has_them(cluster: Simulated, demo: Simulated) -> None:
    racks, topology = cluster.text("inventory/racks.csv"), cluster.text("inventory/topology.conf")
    assert racks[:2] + racks[4:6] == ["node,rack,position", "node001,r1,1", "node004,r1,4", "node005,r2,1"]
    leaves = [f"leaf{number}" for number in range(1, 17)]
    assert topology[1] == "SwitchName=leaf2 Nodes=node003,node004"
    assert topology[-1] == f"SwitchName=spine Switches={','.join(leaves)}"
    nodes = cluster.truth("nodes")
    assert [row["rack"] for row in nodes[:5]] == ["r1"] * 4 + ["r2"] and nodes[4]["position"] == "1"
    assert [row["switch"] for row in nodes] == [leaf for leaf in leaves for _ in "12"]
    assert {row["rack"] for row in demo.truth("nodes")} == {None}
    assert [path.name for path in (demo.summary.sources / "inventory").iterdir()] == ["scontrol_node.txt"]


def test_a_driver_keeps_a_part_of_the_faults_away_and_every_load_names_it(ledger: Ledger, cluster: Simulated) -> None:
    at, node = ledger.faults["at"], ledger.faults["node"]
    is_of_cause, half = ledger.faults["cause"] == BY_CATEGORY["ib_link"], NODES // 2
    before, after, others = (
        int((is_of_cause & (at >= low * DAY) & (at < low * DAY + 18 * DAY) & side).sum())
        for low, side in ((0, node < half), (22, node < half), (22, node >= half))
    )
    assert before > 20 and after / before < 0.6 < others / before < 1.6
    loads = [line for line in cluster.text("kernel/*.log") if "NVRM: loading NVIDIA" in line]
    nodes = {version: {line.split()[1] for line in loads if version in line} for version in ("535.104.05", "550.54.15")}
    assert (len(nodes["535.104.05"]), len(nodes["550.54.15"])) == (NODES, half)
    truth = cluster.truth("driver_rollouts")
    assert {row["node"] for row in truth} == nodes["550.54.15"]
    assert {(row["version"], row["category"], row["factor"]) for row in truth} == {("550.54.15", "ib_link", 0.25)}


def test_noise_fails_once_at_its_rate_and_a_leading_check_so_long_before_its_job(cluster: Simulated) -> None:
    checks, health = {row["check_name"]: row for row in cluster.truth("checks")}, cluster.health()
    failing = [row for row in health if row["result"] == 2]
    noise = [row for row in failing if row["health_check"] == "link flaps"]
    # 64 are expected, less those of nodes that are out of service or broken.
    assert 35 <= len(noise) == checks["link flaps"]["false_count"] <= 85 and checks["link flaps"]["true_count"] == 0
    ends = [row for row in cluster.truth("failures") if row["true_category"] == "pcie"]
    crashed = [row for row in ends if row["has_evidence"] and row["state"] == "FAILED"]
    led = {(row["node"], int(row["start_time"])) for row in failing if row["health_check"] == "check pci"}
    assert len(crashed) > 10 and {row["mechanism"] for row in ends} == {"crash"}
    assert all((row["culprit_node"], row["failed_epoch"] - 240) in led for row in crashed)
    assert checks["check pci"]["lead_seconds"] == 240


@pytest.mark.parametrize(("number", "state"), [(0, FAILED), (1, TIMEOUT)])
def test_hidden_faults_end_most_attempts_that_start_on_their_node(ledger: Ledger, number: int, state: int) -> None:
    struck = ledger.hidden_ends["attempt"][ledger.hidden_ends["fault"] == number]
    starts, ends = ledger.attempts["start"][struck], ledger.attempts["end"][struck]
    node = PROFILE.node_at(PROFILE.hidden_faults[number].position)
    assert len(struck) > 5 and all(node in ledger.nodes[row] for row in struck)
    states = ledger.attempts["state"][struck[ends >= 0]]
    assert (states[~np.isin(states, (NODE_FAIL, PREEMPTED, REQUEUED))] == state).mean() > 0.8
    if state == FAILED:  # a black hole, from its first day on
        assert (ends - starts).max() <= 60 and starts.min() >= 5 * DAY


def test_summaries_are_jobstats_own_and_idle_users_use_next_to_nothing(cluster: Simulated) -> None:
    rows = [row for row in cluster.psv("sacct/*.psv") if "." not in row["JobID"]]
    used: dict[str, list[float]] = {}
    for row in rows:
        if row["AdminComment"].startswith("JS1:H"):
            summary = json.loads(gzip.decompress(base64.b64decode(row["AdminComment"].removeprefix("JS1:"))))
            values = [value for node in summary["nodes"].values() for value in node["gpu_utilization"].values()]
            used.setdefault(row["User"], []).append(float(np.mean(values)))
    means = sorted(float(np.mean(values)) for values in used.values())
    assert means[0] < 5 and means[1] > 30
    assert {row["AdminComment"] for row in rows} >= {"", "JS1:Short"}
    assert {row["node"] for row in cluster.truth("hidden_faults")} == {"node007", "node020"}


def test_most_faults_are_back_after_repairs_that_do_not_work(cluster: Simulated, faults: dict[int, Row]) -> None:
    back = {row["repaired_fault_number"]: faults[row["fault_number"]] for row in cluster.truth("relapses")}
    for number, again in back.items():
        fault = faults[number]
        assert (fault["category"], fault["is_permanent"], fault["node"]) == ("gpu_memory", False, again["node"])
        assert again["category"] == "gpu_memory" and again["fault_epoch"] >= fault["cleared_epoch"]
    limit = max(row["fault_epoch"] for row in faults.values()) - 5 * DAY
    repaired = {
        number
        for number, row in faults.items()
        if row["category"] == "gpu_memory" and row["is_drained"] and (row["cleared_epoch"] or limit) < limit
        if not row["is_permanent"] and not row["is_false_alarm"]
    }
    assert len(repaired) > 20 and 0.6 < len(back.keys() & repaired) / len(repaired) < 0.95


def test_nodes_that_nobody_touches_come_back_without_a_boot(ledger: Ledger) -> None:
    boots = set(zip(ledger.reboots["node"].tolist(), ledger.reboots["at"].tolist(), strict=True))
    is_booted: dict[tuple[str, bool], set[bool]] = {}
    for fault, node, end in zip(*(ledger.outages[name].tolist() for name in ("fault", "node", "end")), strict=True):
        if fault >= 0 and end >= 0:
            kind = CAUSES[ledger.faults["cause"][fault]].category, bool(ledger.faults["is_permanent"][fault])
            is_booted.setdefault(kind, set()).add((node, end - BOOT_SECONDS) in boots)
    assert is_booted["filesystem_mount", False] == {False}
    assert is_booted["gpu_memory", False] == is_booted["gpu_memory", True] == {True}
