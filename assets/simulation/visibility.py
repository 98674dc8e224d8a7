"""Which failures the logs show, and under which category."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assets.simulation.causes import visible_category
from assets.simulation.ledger import Ledger


def visible_categories(ledger: Ledger) -> NDArray[Any]:
    """Return for each failure the category under which the logs show it, None if they do not show it."""
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
    """Tell which categories are not None."""
    return np.array([category is not None for category in categories], np.bool_)
