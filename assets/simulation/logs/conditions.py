"""When a node is silent, and when one of its checks fails. Every log about a node uses this.

Spans of time are sorted by node, so thousands of nodes and times are looked up at once.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from assets.simulation.logs.checks import NUMBERS
from assets.simulation.logs.record import Record
from assets.simulation.profiles import DAY
from assets.simulation.service import BOOT_SECONDS
from assets.simulation.states import ALARM, LOST, REBOOT

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Number = TypeVar("Number", int, Ints)
Span = tuple[int, int, int]
"""Place, start, and end (exclusive)."""

UP_AGAIN_SECONDS = 110
"""Seconds before its return to service at which a restarting node answers again."""
TIME_BITS = 33
"""A place and a second are combined into one number, with the second in these low bits."""


class Spans:
    """Spans of time at numbered places. Spans at one place may overlap."""

    def __init__(self, spans: list[Span]) -> None:
        rows = np.array(spans, np.int64).reshape(-1, 3)
        rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
        base = rows[:, 0] << TIME_BITS
        self._lows = base + rows[:, 1]
        # The largest end so far never reaches into the numbers of the next place.
        self._highs = np.maximum.accumulate(base + rows[:, 2])

    def cover(self, places: Ints, times: Ints) -> Bools:
        """Tell for each place and time whether a span covers it."""
        if not len(self._lows):
            return np.zeros(len(times), np.bool_)
        keys = (places << TIME_BITS) + times
        last = np.searchsorted(self._lows, keys, side="right") - 1
        return (last >= 0) & (keys < self._highs[last])


class Conditions:
    """The state of every node over time.

    Attributes
    ----------
    silent
        Spans in which each node is dead or restarting.
    """

    def __init__(self, record: Record) -> None:
        faults, reboots, horizon = record.ledger.faults, record.ledger.reboots, record.profile.horizon
        silent: list[Span] = [
            (node, at, at + BOOT_SECONDS - UP_AGAIN_SECONDS)
            for node, at in zip(reboots["node"].tolist(), reboots["at"].tolist(), strict=True)
        ]
        failing: list[Span] = []
        alarms: list[Span] = []
        names = ("node", "at", "mechanism", "detected", "checks_from")
        columns = (faults[name].tolist() for name in names)
        rows = zip(record.ledger.symptoms, fails_until(record).tolist(), *columns, strict=True)
        for symptoms, until, node, at, mechanism, detected, found in rows:
            if mechanism == LOST:
                silent.append((node, at, until + BOOT_SECONDS - UP_AGAIN_SECONDS))
            elif mechanism == REBOOT:
                silent.append((node, at, detected if detected >= 0 else horizon))
            for check, _ in symptoms.checks:
                place = self._place(NUMBERS[check], node)
                if mechanism == ALARM:
                    # Until the first run of the check afterwards, whose good result is kept because of the alarm.
                    alarms.append((place, found, until + record.profile.check_seconds))
                else:
                    failing.append((place, at, until))
        self.silent = Spans(silent)
        self._failing, self._alarms = Spans(failing), Spans(alarms)
        self._introduced = np.zeros(len(NUMBERS), np.int64)
        for check, day in record.profile.checks_introduced:
            self._introduced[NUMBERS[check]] = day * DAY

    @staticmethod
    def _place(check: Number, node: Number) -> Number:
        return node * len(NUMBERS) + check

    def exist(self, checks: Ints, times: Ints) -> Bools:
        """Tell whether the checks, by number, existed at these times."""
        introduced: Bools = times >= self._introduced[checks]
        return introduced

    def sound(self, nodes: Ints, checks: Ints, times: Ints) -> Bools:
        """Tell whether the node answers, and the check, by number, exists and has no reason to fail."""
        is_broken = self._failing.cover(self._place(checks, nodes), times)
        return ~self.silent.cover(nodes, times) & ~is_broken & self.exist(checks, times)

    def well(self, nodes: Ints, checks: Ints, times: Ints) -> Bools:
        """Tell whether the check is sound and raises no false alarm either."""
        return self.sound(nodes, checks, times) & ~self._alarms.cover(self._place(checks, nodes), times)


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
