"""The evidence of each fault in the logs: its time, whether it is critical, and its signatures."""

from __future__ import annotations

import re

import numpy as np

from assets.simulation.causes import CAUSES
from assets.simulation.ledger import Ledger, Symptoms
from assets.simulation.states import ALARM, DRAIN
from assets.simulation.visibility import is_named

XID = re.compile(r"Xid \([^)]*\): (\d+)|XID error: (\d+)")
INTERRUPT = "Critical Interrupt"
GSP_XIDS = {119, 120}
FALLEN_OFF_THE_BUS = 79
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
    """Columns per fault.

    Attributes
    ----------
    category
        Category of the evidence: the cause of the fault, or for a false alarm the category of the failing check.
    is_critical
        Whether an attempt that ends badly in this time counts as failed by the fault.
    fails_check
        Whether a check failed.
    first, last
        Times of the first and of the last critical evidence. A check that continues to fail adds no evidence.
    has_xid, has_gsp_xid
        Whether there is an Xid, and one of the GPU's system processor.
    has_xid_79, has_interrupt
        Whether there is an Xid 79, and a critical interrupt, which a PCIe error may bring along.
    """

    def __init__(self, ledger: Ledger) -> None:
        faults, shown = ledger.faults, ledger.symptoms
        codes = [xids(symptoms) for symptoms in shown]
        mechanism, checks_from = faults["mechanism"], faults["checks_from"]
        self.has_xid = np.array([bool(found) for found in codes], np.bool_)
        self.has_gsp_xid = np.array([bool(found & GSP_XIDS) for found in codes], np.bool_)
        self.has_xid_79 = np.array([FALLEN_OFF_THE_BUS in found for found in codes], np.bool_)
        self.has_interrupt = np.array(
            [any(INTERRUPT in message for _, message in symptoms.checks) for symptoms in shown], np.bool_
        )
        speaks = np.array([bool(symptoms.kernel) for symptoms in shown], np.bool_)
        self.fails_check = np.array([bool(symptoms.checks) for symptoms in shown], np.bool_) & (checks_from >= 0)
        self.category = np.empty(len(shown), object)
        self.category[:] = [CAUSES[cause].category for cause in faults["cause"].tolist()]
        alarms = np.flatnonzero(mechanism == ALARM)
        self.category[alarms] = [_alarmed(shown[fault]) for fault in alarms.tolist()]
        self.is_critical = (mechanism != DRAIN) & is_named(self.category) & (speaks | self.fails_check)
        self.first = np.where(speaks, faults["at"], checks_from)
        self.last = np.where(self.fails_check, np.maximum(checks_from, self.first), self.first)


def _alarmed(symptoms: Symptoms) -> str | None:
    """Return the category of the first failing check that is critical; None if there is none."""
    return next((CRITICAL_CHECKS[check] for check, _ in symptoms.checks if check in CRITICAL_CHECKS), None)
