"""The checks of a node, when a check fails, and when the node is silent. Every log about a node uses this module.

Spans of time are sorted by node, so thousands of nodes and times are looked up at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assets.simulation.logs.record import Record
from assets.simulation.profiles import DAY
from assets.simulation.service import BOOT_SECONDS
from assets.simulation.states import ALARM, LOST, REBOOT

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Span = tuple[int, int, int]
"""Place, start, and end (exclusive)."""

FREQUENT = {
    "xid errors": "No XID error was found.",
    "check ibstat": "all ib links are up.",
    "mounted directory": "mounted directory /checkpoint is present.",
}
"""Checks whose good results are kept every few hours, in turn."""

DAILY = {
    "nvidia smi gpu_num": "Number of GPUs present is the same as the expected number, 8. Number of GPUs present: 8",
    "nvidia smi ecc_uncorrected": "No uncorrected volatile ECC errors above threshold.",
    "nvidia smi row_remap_pending": "No row remap is pending.",
    "check dcgmi nvlink status": "All NVLinks are up.",
    "check pci": "All PCI devices have the expected link width and speed.",
    "check blockdev": "All block devices are present.",
    "check ethlink": "Ethernet link eth0 is UP.",
    "link flaps": "No link flaps were detected",
    "ipmitool sel": "No errors detected in the system event log.",
    "mce errors": "No MCE errors detected.",
    "service status": "All services are running.",
    "disk usage": "Disk usage of / is below the thresholds.",
}
"""Checks whose good results are kept once a day or less."""

ALL = FREQUENT | DAILY
NUMBERS = {check: number for number, check in enumerate(ALL)}

UP_AGAIN_SECONDS = 110
"""Seconds before its return to service at which a restarting node answers again."""
TIME_BITS = 33
"""A place and a second are combined into one number, with the second in these low bits."""


EXISTS, ANSWERS, SOUND, WELL = range(4)
"""Conditions, each in addition to the last: the check exists; the node answers; it has no fault; no false alarm."""


class Spans:
    """Spans of time at numbered places. Spans at one place may overlap."""

    def __init__(self, spans: list[Span]) -> None:
        rows = np.array(spans, np.int64).reshape(-1, 3)
        rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
        base = rows[:, 0] << TIME_BITS
        self._lows = base + rows[:, 1]
        # The running maximum of the ends stays below the numbers of the next place.
        self._highs = np.maximum.accumulate(base + rows[:, 2])

    def cover(self, places: Ints, times: Ints) -> Bools:
        """Return for each place and time whether a span covers it."""
        if not len(self._lows):
            return np.zeros(len(times), np.bool_)
        keys = (places << TIME_BITS) + times
        last = np.searchsorted(self._lows, keys, side="right") - 1
        return (last >= 0) & (keys < self._highs[last])


class Conditions:
    """The state of every node over time. `silent` has the spans in which each node is dead or restarting."""

    def __init__(self, record: Record) -> None:
        faults, reboots, horizon = record.ledger.faults, record.ledger.reboots, record.profile.horizon
        silent: list[Span] = [
            (node, at, at + BOOT_SECONDS - UP_AGAIN_SECONDS)
            for node, at in zip(reboots["node"].tolist(), reboots["at"].tolist(), strict=True)
        ]
        failing: list[Span] = []
        alarms: list[Span] = []
        columns = (faults[name].tolist() for name in ("node", "at", "mechanism", "detected", "checks_from"))
        rows = zip(record.ledger.symptoms, fails_until(record).tolist(), *columns, strict=True)
        for symptoms, until, node, at, mechanism, detected, found in rows:
            if mechanism == LOST:
                silent.append((node, at, until + BOOT_SECONDS - UP_AGAIN_SECONDS))
            elif mechanism == REBOOT:
                silent.append((node, at, detected if detected >= 0 else horizon))
            for check, _ in symptoms.checks:
                place = node * len(NUMBERS) + NUMBERS[check]
                if mechanism == ALARM:
                    # Until the next run of the check. Its good result is kept because of the alarm.
                    alarms.append((place, found, until + record.profile.check_seconds))
                else:
                    failing.append((place, at, until))
        self.silent = Spans(silent)
        self._failing, self._alarms = Spans(failing), Spans(alarms)
        self._introduced = np.zeros(len(NUMBERS), np.int64)
        for check, day in record.profile.checks_introduced:
            self._introduced[NUMBERS[check]] = day * DAY

    def allow(self, nodes: Ints, checks: Ints, times: Ints, needs: Ints) -> Bools:
        """Return for each node, check (by number) and time whether the needed condition holds."""
        places = nodes * len(NUMBERS) + checks
        allowed: Bools = times >= self._introduced[checks]
        allowed &= (needs < ANSWERS) | ~self.silent.cover(nodes, times)
        allowed &= (needs < SOUND) | ~self._failing.cover(places, times)
        return allowed & ((needs < WELL) | ~self._alarms.cover(places, times))


def fails_until(record: Record) -> Ints:
    """Return for each fault when its checks stop failing: its node restarts, or the alarm is over.

    The checks of a fault that is not cleared fail until the end of the simulation.
    """
    faults = record.ledger.faults
    cleared = faults["cleared"].astype(np.int64)
    passes_by_itself = faults["mechanism"] == ALARM
    passes_by_itself[record.ledger.drained_faults()] = False
    ends = np.where(passes_by_itself, cleared, cleared - BOOT_SECONDS)
    return np.where(cleared >= 0, ends, record.profile.horizon)
