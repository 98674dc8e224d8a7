"""The attempts that an export of the accounting shows, in their state at the time of the export."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assets.simulation.ledger import Ledger
from assets.simulation.profiles import Profile
from assets.simulation.states import PENDING, RUNNING


class Accounting:
    """The attempts as `sacct -S -E` shows them, by row of the ledger.

    Attributes
    ----------
    until
        The second of the export.
    shown
        Rows of the attempts in the export: those that ended after its beginning and were submitted before its end.
    """

    def __init__(self, profile: Profile, ledger: Ledger) -> None:
        self.until = profile.accounting_until
        attempts = ledger.attempts
        end, start, state = (attempts[name] for name in ("end", "start", "state"))
        is_open = (end < 0) | (end >= self.until)
        is_early = self.until < profile.horizon
        waits = is_open & ((start < 0) | (is_early & (start >= self.until)))
        self._columns = {
            "end": np.where(is_open, -1, end),
            "start": np.where(waits, -1, start),
            "state": np.where(waits, PENDING, np.where(is_open, RUNNING, state)).astype(state.dtype),
        }
        is_shown = ((end < 0) | (end >= profile.accounting_from)) & (attempts["submit"] <= self.until)
        self.shown: NDArray[np.int64] = np.flatnonzero(is_shown)
        self._attempts = attempts

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of all attempts as the export shows it."""
        column: NDArray[Any] = self._columns.get(name, self._attempts[name])
        return column
