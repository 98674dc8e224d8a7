"""Compares a small ledger with the paper and looks up rows of the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.calibration import Observed, Row, calibrate
from tests.simulation.small_ledger import SmallLedger, site


def observe(made: SmallLedger, **changes: Any) -> Observed:
    return Observed(site(**changes), made.frozen())


def row(rows: list[Row], quantity: str) -> Row:
    found = [row for row in rows if row.quantity == quantity]
    assert len(found) == 1, f"{len(found)} rows '{quantity}' among {[row.quantity for row in rows]}"
    return found[0]


def values(made: SmallLedger, **changes: Any) -> Callable[[str], float]:
    """Calibrate and give a way to look up values."""
    rows = calibrate(site(**changes), made.frozen())
    return lambda quantity: row(rows, quantity).value
