"""Chance without luck: numbers between 0 and 1 that a few draws already spread evenly.

A share of a few dozen faults would miss the planted one by points if each were drawn by itself.
"""

from __future__ import annotations

import numpy as np

STEP = (5**0.5 - 1) / 2
"""The golden ratio's fraction: multiples of it fill the unit interval more evenly than those of any other number."""


class EvenChance:
    """Gives the next number of a question's own sequence, begun at a random place."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._last: dict[str, float] = {}

    def __call__(self, question: str) -> float:
        """Give a number from 0 to 1."""
        last = self._last.get(question)
        drawn = float(self._rng.random()) if last is None else (last + STEP) % 1.0
        self._last[question] = drawn
        return drawn
