"""Numbers between 0 and 1 that are spread evenly even when only a few are drawn (a low-discrepancy sequence).

With independent draws, a share among a few dozen faults would differ from the planted one by several points.
"""

from __future__ import annotations

import numpy as np

STEP = (5**0.5 - 1) / 2
"""The fraction of the golden ratio. Its multiples fill the interval from 0 to 1 most evenly."""


class EvenChance:
    """Gives each question a sequence of its own, which begins at a random place."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._last: dict[str, float] = {}

    def __call__(self, question: str) -> float:
        """Return the next number of the question's sequence, from 0 to 1."""
        last = self._last.get(question)
        drawn = float(self._rng.random()) if last is None else (last + STEP) % 1.0
        self._last[question] = drawn
        return drawn
