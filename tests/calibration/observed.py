"""What the logs of a simulated cluster show: attempts with their size and time, and the failures that can be found.

Infrastructure failed an attempt if it is NODE_FAIL, or if it is FAILED or REQUEUED and a critical event struck one of
its nodes from ten minutes before its end to five minutes after. The event may belong to another fault, by chance.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assets.simulation.causes import CAUSES, UNATTRIBUTED
from assets.simulation.evidence import AFTER_SECONDS, BEFORE_SECONDS, is_named, visible_categories
from assets.simulation.ledger import Ledger, Symptoms
from assets.simulation.profiles import DAY, Profile
from assets.simulation.states import ALARM, COMPLETED, DRAIN, FAILED, NODE_FAIL, PENDING, REQUEUED, RUNNING

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
XID = re.compile(r"Xid \([^)]*\): (\d+)|XID error: (\d+)")
CRITICAL_CHECKS = {
    "check ibstat": "ib_link",
    "nvidia smi ecc_uncorrected": "gpu_memory",
    "nvidia smi gpu_num": "gpu_unavailable",
    "check dcgmi nvlink status": "gpu_nvlink",
    "check pci": "pcie",
    "check blockdev": "block_device",
    "check ethlink": "eth_link",
    "mounted directory": "filesystem_mount",
    "service status": "system_services",
}
"""Checks whose failure alone shows that a node is broken, and their category."""


def xids(symptoms: Symptoms) -> set[int]:
    """Return the Xid codes in the kernel lines and in the messages of the checks."""
    texts = [line for _, line in symptoms.kernel] + [message for _, message in symptoms.checks]
    return {int(kernel or check) for text in texts for kernel, check in XID.findall(text)}


class Evidence:
    """What each fault shows in the logs: its category, and its first and last critical evidence.

    The category is the cause of the fault, or for a false alarm that of the failing check. A check that continues to
    fail adds no evidence.
    """

    def __init__(self, ledger: Ledger) -> None:
        faults, shown = ledger.faults, ledger.symptoms
        mechanism, checks_from = faults["mechanism"], faults["checks_from"]
        speaks = np.array([bool(symptoms.kernel) for symptoms in shown], np.bool_)
        self.xids = [xids(symptoms) for symptoms in shown]
        self.fails_check = np.array([bool(symptoms.checks) for symptoms in shown], np.bool_) & (checks_from >= 0)
        self.category = np.empty(len(shown), object)
        self.category[:] = [CAUSES[cause].category for cause in faults["cause"].tolist()]
        for fault in np.flatnonzero(mechanism == ALARM).tolist():
            checks = [check for check, _ in shown[fault].checks if check in CRITICAL_CHECKS]
            self.category[fault] = CRITICAL_CHECKS[checks[0]] if checks else None
        self.is_critical = (mechanism != DRAIN) & is_named(self.category) & (speaks | self.fails_check)
        self.first = np.where(speaks, faults["at"], checks_from)
        self.last = np.where(self.fails_check, np.maximum(checks_from, self.first), self.first)


@dataclass(frozen=True)
class Failures:
    """Attempts that infrastructure failed, one row each. `category` is the cause that the logs name."""

    attempt: IntArray
    fault: IntArray
    node: IntArray
    category: NDArray[Any]
    is_chance: BoolArray


class Occupancy:
    """Looks up the attempts that ended on a node within a span of time."""

    def __init__(self, ledger: Ledger, ends: IntArray) -> None:
        self._span = int(ends.max(initial=0)) + 1
        attempt = np.repeat(np.arange(len(ends), dtype=np.int32), np.diff(ledger.nodes.starts))
        key = ledger.nodes.values.astype(np.int64) * self._span + ends[attempt]
        order = np.argsort(key)
        self._key, self._attempt = key[order], attempt[order]

    def ended(self, nodes: IntArray, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
        """Find the attempts that ended on each node within its span: the position among the nodes and the attempt."""
        base = nodes.astype(np.int64) * self._span
        first = np.searchsorted(self._key, base + low.clip(0, self._span))
        after = np.searchsorted(self._key, base + high.clip(-1, self._span - 1), "right")
        spans = [np.arange(*span) for span in zip(first.tolist(), np.maximum(first, after).tolist(), strict=True)]
        which = np.repeat(np.arange(len(nodes)), [len(span) for span in spans])
        return which, self._attempt[np.concatenate([*spans, np.zeros(0, np.int64)])].astype(np.int64)


class Observed:
    """The frozen ledger of one cluster, as columns per attempt."""

    def __init__(self, profile: Profile, ledger: Ledger) -> None:
        attempts = ledger.attempts
        self.profile, self.ledger = profile, ledger
        self.state, self.start = attempts["state"], attempts["start"]
        self.end: IntArray = np.where(attempts["end"] >= 0, attempts["end"], profile.horizon)
        self.run = ledger.jobs["run"][attempts["job"]]
        self.gpus = ledger.gpus()
        self.is_started: BoolArray = self.start >= 0
        self.is_ended: BoolArray = ~np.isin(self.state, (RUNNING, PENDING))
        self.seconds: IntArray = np.where(self.is_started, self.end - self.start, 0).clip(0)
        self.gpu_seconds = self.seconds.astype(np.float64) * self.gpus
        self.node_days = self.seconds / DAY * np.diff(ledger.nodes.starts)
        self.evidence, self._occupancy = Evidence(ledger), Occupancy(ledger, self.end)
        self.is_lemon: BoolArray = np.isin(np.arange(profile.node_count), list(profile.lemon_nodes))

    @cached_property
    def failures(self) -> Failures:
        """The attempts that infrastructure failed, as far as the logs show it."""
        failures = self.ledger.failures
        category = visible_categories(self.ledger)
        # The state alone shows that a node failed, whatever evidence the fault left.
        is_node_fail = self.state[failures["attempt"]] == NODE_FAIL
        category[is_node_fail & ~is_named(category)] = UNATTRIBUTED
        shown = is_named(category)
        known = np.zeros(len(self.state), np.bool_)
        known[failures["attempt"][shown]] = True
        fault, attempt = self._met_by_chance()
        new = ~known[attempt]
        attempt, first = np.unique(attempt[new], return_index=True)
        fault = fault[new][first]
        return Failures(
            attempt=np.concatenate([failures["attempt"][shown], attempt]).astype(np.int64),
            fault=np.concatenate([failures["fault"][shown], fault]).astype(np.int64),
            node=np.concatenate([failures["node"][shown], self.ledger.faults["node"][fault]]).astype(np.int64),
            category=np.concatenate([category[shown], self.evidence.category[fault]]),
            is_chance=np.arange(int(shown.sum()) + len(fault)) >= int(shown.sum()),
        )

    def _met_by_chance(self) -> tuple[IntArray, IntArray]:
        """Find the attempts that ended badly with a critical event of any fault in their window."""
        evidence = self.evidence
        faults = np.flatnonzero(evidence.is_critical)
        low, high = evidence.first[faults], evidence.last[faults]
        node = self.ledger.faults["node"][faults]
        which, attempt = self._occupancy.ended(node, low - AFTER_SECONDS, high + BEFORE_SECONDS)
        bad = np.isin(self.state[attempt], (FAILED, REQUEUED)) & (self.start[attempt] <= high[which])
        return faults[which[bad]], attempt[bad]

    @cached_property
    def is_failed(self) -> BoolArray:
        """Per attempt, whether infrastructure failed it."""
        failed = np.zeros(len(self.state), np.bool_)
        failed[self.failures.attempt] = True
        return failed

    @cached_property
    def incident(self) -> IntArray:
        """The incident of each failure."""
        incident: IntArray = self.ledger.faults["incident"][self.failures.fault].astype(np.int64)
        return incident

    @cached_property
    def saw_failed_check(self) -> BoolArray:
        """Per attempt, whether it completed although a check failed on one of its nodes, up to five minutes after."""
        evidence = self.evidence
        faults = np.flatnonzero(evidence.fails_check)
        low, high = self.ledger.faults["checks_from"][faults], self.ledger.faults["cleared"][faults]
        high = np.where(high >= 0, high, self.profile.horizon)
        node = self.ledger.faults["node"][faults]
        latest = high + self.profile.max_run_seconds
        which, attempt = self._occupancy.ended(node, low - AFTER_SECONDS, latest)
        met = (self.start[attempt] <= high[which]) & (self.state[attempt] == COMPLETED)
        saw = np.zeros(len(self.state), np.bool_)
        saw[attempt[met]] = True
        return saw

    @cached_property
    def ran_on_lemon(self) -> BoolArray:
        """Per attempt, whether it held at least one lemon node."""
        nodes = self.ledger.nodes
        lemons_before = np.concatenate([[0], np.cumsum(self.is_lemon[nodes.values])])
        held: BoolArray = np.diff(lemons_before[nodes.starts]) > 0
        return held
