"""When a node says nothing, and when one of its checks is not well: what every log about a node must respect."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assets.simulation.logs.record import Record
from assets.simulation.service import BOOT_SECONDS
from assets.simulation.states import LOST, REBOOT

FloatArray = NDArray[np.float64]
Span = tuple[float, float]

UP_AGAIN_SECONDS = 110
"""A restarting node answers again this long before it is back in service."""


def outside(times: FloatArray, spans: list[Span]) -> FloatArray:
    """Keep the times that lie in none of the spans."""
    for low, high in spans:
        times = times[(times < low) | (times >= high)]
    return times


class Conditions:
    """Spans per node.

    Attributes
    ----------
    silent
        Per node, when it is dead or restarting.
    failing
        Per node and check, when the check would fail, found or not.
    """

    def __init__(self, record: Record) -> None:
        faults, reboots = record.ledger.faults, record.ledger.reboots
        self.silent: list[list[Span]] = [[] for _ in record.node_names]
        self.failing: list[dict[str, list[Span]]] = [{} for _ in record.node_names]
        for node, at in zip(reboots["node"].tolist(), reboots["at"].tolist(), strict=True):
            self.silent[node].append((at, at + BOOT_SECONDS - UP_AGAIN_SECONDS))
        for fault in range(len(faults)):
            node, at, mechanism = (int(faults[name][fault]) for name in ("node", "at", "mechanism"))
            cleared = cleared_at(record, fault)
            if mechanism == LOST:
                self.silent[node].append((at, cleared - UP_AGAIN_SECONDS))
            elif mechanism == REBOOT:
                self.silent[node].append((at, int(faults["detected"][fault])))
            for check, _ in record.ledger.symptoms[fault].checks:
                self.failing[node].setdefault(check, []).append((at, cleared - BOOT_SECONDS))

    def well(self, times: FloatArray, node: int, check: str) -> FloatArray:
        """Keep the times at which the node answers and the check passes."""
        return outside(outside(times, self.silent[node]), self.failing[node].get(check, []))


def cleared_at(record: Record, fault: int) -> int:
    """Give the time at which a fault's node was back, a time after the end when it was not."""
    cleared = int(record.ledger.faults["cleared"][fault])
    return cleared if cleared >= 0 else record.profile.horizon + BOOT_SECONDS
