"""Causes of faults in the categories of the failure taxonomy: how often, by what mechanism, and what is repaired.

Weights put InfiniBand links, filesystem mounts, GPU memory and PCIe first, as the paper found, and leave a good part
of the lost heartbeats without an explanation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assets.simulation.states import CRASH, DRAIN, EVICT, LAUNCH, LOST, OPERATOR, REBOOT, REQUEUE

UNATTRIBUTED = "node_fail_unattributed"


@dataclass(frozen=True)
class Cause:
    """One cause; `permanent_share` of its faults need a part changed, the rest clear with a restart."""

    category: str
    weight: float
    mechanisms: dict[int, float]
    permanent_share: float
    component: str
    hits_one_gpu: bool = False


@dataclass(frozen=True)
class Cooccurrence:
    pcie_with_xid_79: float = 0.43
    pcie_xid_79_with_interrupt: float = 0.49
    ib_with_gpu: float = 0.02
    hardware_with_other: float = 0.03


CAUSES = (
    Cause("ib_link", 0.17, {CRASH: 0.5, EVICT: 0.35, REQUEUE: 0.15}, 0.35, "NIC"),
    Cause("filesystem_mount", 0.13, {EVICT: 0.5, REQUEUE: 0.3, CRASH: 0.2}, 0.0, "other"),
    Cause("gpu_memory", 0.13, {CRASH: 0.7, EVICT: 0.3}, 0.6, "GPU", hits_one_gpu=True),
    Cause("pcie", 0.11, {CRASH: 0.5, EVICT: 0.3, LOST: 0.2}, 0.6, "PCIe", hits_one_gpu=True),
    Cause("gpu_unavailable", 0.07, {CRASH: 0.6, EVICT: 0.2, LOST: 0.2}, 0.5, "GPU", hits_one_gpu=True),
    Cause("gpu_driver_firmware", 0.07, {EVICT: 0.6, CRASH: 0.4}, 0.0, "GPU", hits_one_gpu=True),
    Cause("gpu_nvlink", 0.05, {CRASH: 0.7, EVICT: 0.3}, 0.6, "GPU", hits_one_gpu=True),
    Cause("main_memory", 0.04, {LOST: 0.7, CRASH: 0.3}, 0.7, "DIMM"),
    Cause("block_device", 0.03, {EVICT: 1.0}, 0.7, "other"),
    Cause("host_hardware", 0.03, {OPERATOR: 1.0}, 1.0, "PSU"),
    Cause("eth_link", 0.02, {REQUEUE: 1.0}, 0.4, "NIC"),
    Cause("system_services", 0.04, {LAUNCH: 0.6, EVICT: 0.4}, 0.0, "other"),
    Cause(UNATTRIBUTED, 0.13, {LOST: 0.6, REBOOT: 0.4}, 0.15, "other"),
)
BY_CATEGORY = {cause.category: number for number, cause in enumerate(CAUSES)}

DRAIN_CATEGORIES = {"gpu_memory": 0.6, "main_memory": 0.25, "system_services": 0.15}
"""Low-severity findings: the node is drained after its jobs, nothing fails."""

LEMON_CATEGORIES = {
    "GPU": {"gpu_memory": 0.4, "gpu_unavailable": 0.35, "pcie": 0.25},
    "DIMM": {"main_memory": 0.55, UNATTRIBUTED: 0.45},
    "NIC": {"ib_link": 0.8, "eth_link": 0.2},
    "PCIe": {"pcie": 0.8, "gpu_unavailable": 0.2},
    "EUD": {"gpu_nvlink": 0.5, "gpu_memory": 0.5},
    "BIOS": {UNATTRIBUTED: 0.7, "pcie": 0.3},
    "PSU": {"host_hardware": 0.5, UNATTRIBUTED: 0.5},
    "Optics": {"ib_link": 1.0},
    "CPU": {"main_memory": 0.5, UNATTRIBUTED: 0.5},
}


def draw_cause(rng: np.random.Generator, shares: dict[str, float] | None = None) -> int:
    """Draw the number of a cause, by the fleet's weights or by the given shares of categories."""
    if shares is None:
        shares = {cause.category: cause.weight for cause in CAUSES}
    names, weights = list(shares), np.array(list(shares.values()))
    return BY_CATEGORY[names[int(rng.choice(len(names), p=weights / weights.sum()))]]


def draw_mechanism(rng: np.random.Generator, cause: int, among: tuple[int, ...] | None = None) -> int:
    """Draw how a fault of this cause reaches the jobs; `among` narrows the choice."""
    table = {m: p for m, p in CAUSES[cause].mechanisms.items() if among is None or m in among} or {EVICT: 1.0}
    weights = np.array(list(table.values()))
    return int(rng.choice(list(table), p=weights / weights.sum()))


def visible_category(cause: int, mechanism: int, has_evidence: bool) -> str | None:
    """Say under which category the logs let the failure be found; None when they do not show it to be one."""
    if mechanism == DRAIN:
        return None
    if mechanism == REBOOT or (mechanism == LOST and not has_evidence):
        return UNATTRIBUTED
    if mechanism in (LAUNCH, OPERATOR):
        return CAUSES[cause].category
    return CAUSES[cause].category if has_evidence else None
