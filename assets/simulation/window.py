"""Evidence in the attribution window of attempts that ended, whether it is right or wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assets.simulation.false_alarms import AFTER_SECONDS, BEFORE_SECONDS
from assets.simulation.ledger import Ledger
from assets.simulation.states import ALARM, DRAIN

TIME_BITS = 33


def onsets(ledger: Ledger, faults: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where and when faults begin to show, sorted: the node in the high bits, the second in the low."""
    nodes, at, checks_from = (ledger.faults[name] for name in ("node", "at", "checks_from"))
    found: list[tuple[int, int]] = []
    for fault in faults.tolist():
        shown, node = ledger.symptoms[fault], int(nodes[fault])
        if shown.kernel:
            found.append((node, int(at[fault]) + int(shown.kernel[0][0])))
        if shown.checks and checks_from[fault] >= 0:
            found.append((node, int(checks_from[fault])))
    pairs = np.array(found, np.int64).reshape(-1, 2)
    keys: NDArray[np.int64] = np.sort((pairs[:, 0] << TIME_BITS) + pairs[:, 1].clip(0))
    return keys


def has_onset(ledger: Ledger, keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which attempts had an onset on one of their nodes, from ten minutes before their end to five after.

    An onset before the start of the attempt does not count.

    Parameters
    ----------
    ledger
        A frozen ledger.
    keys
        Onsets as `onsets` gives them.
    """
    attempts, held = ledger.attempts, ledger.nodes
    start, end = attempts["start"].astype(np.int64), attempts["end"].astype(np.int64)
    row = np.repeat(np.arange(len(start)), np.diff(held.starts))
    base = held.values.astype(np.int64) << TIME_BITS
    low = np.maximum(end - BEFORE_SECONDS, start)[row].clip(0)
    high = (end + AFTER_SECONDS)[row].clip(0)
    met = np.searchsorted(keys, base + high, "right") > np.searchsorted(keys, base + low)
    has: NDArray[np.bool_] = np.zeros(len(start), np.bool_)
    has[row[met]] = True
    return has & (start >= 0) & (end >= 0)


def has_any_evidence(ledger: Ledger) -> NDArray[np.bool_]:
    """Tell which attempts have any evidence in their window."""
    return has_onset(ledger, onsets(ledger, np.arange(len(ledger.faults))))


def has_false_evidence(ledger: Ledger) -> NDArray[np.bool_]:
    """Tell which attempts have a false alarm, or a finding of low severity, in their window."""
    faults = np.flatnonzero(np.isin(ledger.faults["mechanism"], (ALARM, DRAIN)))
    return has_onset(ledger, onsets(ledger, faults))
