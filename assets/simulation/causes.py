"""Causes of faults, by category of the failure taxonomy: frequency, mechanisms, and the part to repair.

InfiniBand links, filesystem mounts, GPU memory and PCIe have the largest weights, as in the paper. Many lost heartbeats
have no explanation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from assets.simulation.states import ALARM, CRASH, DRAIN, EVICT, LAUNCH, LOST, OPERATOR, REBOOT, REQUEUE

UNATTRIBUTED = "node_fail_unattributed"
Drawn = TypeVar("Drawn")


@dataclass(frozen=True)
class Cause:
    """One cause. `permanent_share` of its faults need a new part; a restart clears the others."""

    category: str
    weight: float
    mechanisms: dict[int, float]
    permanent_share: float
    component: str
    hits_one_gpu: bool = False


@dataclass(frozen=True)
class Cooccurrence:
    """Shares of faults that show several symptoms. The defaults are the paper's values for RSC-1.

    The Xid 79 and the interrupt of a PCIe fault do not count as a second category of hardware. InfiniBand faults use
    `ib_with_gpu`, an error of a GPU on the same node, if that is larger.
    """

    pcie_with_xid_79: float = 0.43
    pcie_with_xid_79_and_interrupt: float = 0.21
    ib_with_gpu: float = 0.02
    hardware_with_other: float = 0.03


CAUSES = (
    Cause("ib_link", 0.17, {CRASH: 0.55, EVICT: 0.2, REQUEUE: 0.25}, 0.35, "NIC"),
    Cause("filesystem_mount", 0.2, {EVICT: 0.5, REQUEUE: 0.3, CRASH: 0.2}, 0.0, "other"),
    Cause("gpu_memory", 0.13, {CRASH: 0.7, EVICT: 0.3}, 0.6, "GPU", hits_one_gpu=True),
    # PCIe faults never take the whole node away: the log of its BMC could not be read in time, and would show too
    # few interrupts.
    Cause("pcie", 0.11, {CRASH: 0.6, EVICT: 0.4}, 0.6, "PCIe", hits_one_gpu=True),
    Cause("gpu_unavailable", 0.05, {CRASH: 0.6, EVICT: 0.2, LOST: 0.2}, 0.5, "GPU", hits_one_gpu=True),
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
FLEET_SHARES = {cause.category: cause.weight for cause in CAUSES}

CATEGORIES_BY_PRIORITY = (
    *("pcie", "gpu_memory", "gpu_nvlink", "gpu_unavailable", "gpu_driver_firmware", "ib_link", "block_device"),
    *("filesystem_mount", "main_memory", "host_hardware", "eth_link", "system_services", UNATTRIBUTED),
)
"""The cause of a failure is the first category here that the failure shows."""

DRAIN_CATEGORIES = {"gpu_memory": 0.6, "main_memory": 0.25, "system_services": 0.15}
"""Findings of low severity: the node is drained after its jobs have ended, and no job fails."""

LEMON_CATEGORIES = {
    "GPU": {"gpu_memory": 0.5, "gpu_unavailable": 0.2, "pcie": 0.2, "gpu_nvlink": 0.1},
    # A bad module mostly stops the machine before anything is logged.
    "DIMM": {"main_memory": 0.4, UNATTRIBUTED: 0.6},
    # GPUs, network adapters and drives are attached to one loose riser.
    "PCIe": {"pcie": 0.75, "gpu_unavailable": 0.1, "ib_link": 0.1, "block_device": 0.05},
    # Extended utility diagnostics: GPUs that fail only under the long tests of memory and of NVLink.
    "EUD": {"gpu_memory": 0.55, "gpu_nvlink": 0.45},
    # Wrong timings and link training cause restarts without a visible reason, and errors of memory and of the bus.
    "BIOS": {UNATTRIBUTED: 0.5, "main_memory": 0.2, "pcie": 0.2, "host_hardware": 0.1},
    "NIC": {"ib_link": 0.8, "eth_link": 0.2},
    "PSU": {UNATTRIBUTED: 0.6, "host_hardware": 0.4},
    "Optics": {"ib_link": 1.0},
    "CPU": {UNATTRIBUTED: 0.45, "host_hardware": 0.3, "main_memory": 0.25},
}
"""The categories that a lemon's faults show, by its root cause. The root causes are those of the paper's Table II."""


def _draw(rng: np.random.Generator, shares: Mapping[Drawn, float]) -> Drawn:
    """Draw one key by its share. The shares need not sum to one. numpy's own `choice` takes twenty times as long."""
    left = rng.random() * sum(shares.values())
    for drawn, share in shares.items():
        left -= share
        if left < 0:
            return drawn
    return drawn


def draw_cause(rng: np.random.Generator, shares: Mapping[str, float] | None = None) -> int:
    """Draw a cause and return its number. The default shares are the weights of the fleet."""
    return BY_CATEGORY[_draw(rng, FLEET_SHARES if shares is None else shares)]


def draw_mechanism(rng: np.random.Generator, cause: int, among: tuple[int, ...] | None = None) -> int:
    """Draw the mechanism by which a fault of this cause affects jobs. `among` limits the choice."""
    shares = CAUSES[cause].mechanisms
    if among is not None:
        shares = {mechanism: share for mechanism, share in shares.items() if mechanism in among} or {EVICT: 1.0}
    return _draw(rng, shares)


def visible_category(cause: int, mechanism: int, has_evidence: bool, others: Sequence[str] = ()) -> str | None:
    """Return the category under which the logs show the failure, or None if they do not show it.

    `others` are the other categories that its symptoms show.
    """
    if mechanism in (DRAIN, ALARM):
        return None
    if mechanism == REBOOT or (mechanism == LOST and not has_evidence):
        return UNATTRIBUTED
    if not has_evidence and mechanism not in (LAUNCH, OPERATOR):
        return None
    return min((CAUSES[cause].category, *others), key=CATEGORIES_BY_PRIORITY.index)
