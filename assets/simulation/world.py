"""What the parts of the simulation share: profile, clock, nodes, ledger, and the random generator."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from assets.simulation.ledger import Ledger
from assets.simulation.nodes import NodePool
from assets.simulation.profiles import Profile


class Clock:
    """Runs booked actions by their second and then in the order of booking; 0 is the first day's midnight."""

    def __init__(self) -> None:
        self.now = 0
        self._queue: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._booked = 0

    def at(self, time: float, action: Callable[..., None], *arguments: Any) -> None:
        """Book an action. A time in the past means now."""
        self._booked += 1
        heapq.heappush(self._queue, (max(int(time), self.now), self._booked, action, arguments))

    def run(self, until: int, progress: Callable[[float], None]) -> None:
        """Run all actions booked before `until`, and report the share of time that has passed."""
        queue, step, tell_at = self._queue, max(until // 200, 1), 0
        while queue and queue[0][0] < until:
            self.now, _, action, arguments = heapq.heappop(queue)
            action(*arguments)
            if self.now >= tell_at:
                tell_at = self.now + step
                progress(self.now / until)
        self.now = until
        progress(1.0)


@dataclass(frozen=True)
class World:
    """One cluster during its simulation."""

    profile: Profile
    clock: Clock
    pool: NodePool
    ledger: Ledger
    rng: np.random.Generator
