"""The clock of the simulation: a queue of actions, ordered by their second and then by when they were booked."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any


class Clock:
    """Runs booked actions in time order; `now` is in seconds since the first day's midnight."""

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
        queue, pop = self._queue, heapq.heappop
        step = max(until // 200, 1)
        tell_at = step
        while queue and queue[0][0] < until:
            self.now, _, action, arguments = pop(queue)
            action(*arguments)
            if self.now >= tell_at:
                tell_at = self.now + step
                progress(self.now / until)
        self.now = until
        progress(1.0)
