"""What the logs show of a failure, and which attempts have evidence in their window, whether it is right or wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assets.simulation.causes import visible_category
from assets.simulation.ledger import Ledger
from assets.simulation.states import ALARM, DRAIN

BEFORE_SECONDS, AFTER_SECONDS = 600, 300
"""An event is evidence for an attempt in this window around its end, but not before its start."""
TIME_BITS = 33
"""A node and a second are combined into one number, with the second in these low bits."""


def visible_categories(ledger: Ledger) -> NDArray[Any]:
    """Return the category that the logs show for each failure, or None if they do not show it."""
    faults, symptoms = ledger.faults, ledger.symptoms
    rows, of = np.unique(ledger.failures["fault"], return_inverse=True)
    kinds = [faults[name][rows].tolist() for name in ("cause", "mechanism", "has_evidence")]
    names = np.empty(len(rows), object)
    names[:] = [
        visible_category(cause, mechanism, evidence, symptoms[row].others)
        for row, cause, mechanism, evidence in zip(rows.tolist(), *kinds, strict=True)
    ]
    return names[of]


def is_named(categories: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which categories are not None."""
    return np.array([category is not None for category in categories], np.bool_)


def has_evidence(ledger: Ledger, only_false: bool = False) -> NDArray[np.bool_]:
    """Return which attempts have evidence in their window: any, or only false alarms and findings of low severity."""
    is_chosen = np.isin(ledger.faults["mechanism"], (ALARM, DRAIN)) | (not only_false)
    keys = _onsets(ledger, np.flatnonzero(is_chosen))
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


def _onsets(ledger: Ledger, faults: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where and when faults begin to show, sorted."""
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
