"""Windows of one day in UTC, and which of them have to be asked for.

A window is complete once it was asked for after its end. sacct and sacctmgr give every record that overlaps a window,
so a job is in the window in which it ends, however long it ran: only what Slurm writes late needs a second question.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

DAY = timedelta(days=1)


@dataclass(frozen=True, order=True)
class Window:
    """A day in UTC, or the part of it that is over.

    Examples
    --------
    >>> window = Window(date(2024, 5, 1), datetime(2024, 5, 1, 9, 30, tzinfo=UTC))
    >>> window.from_at.isoformat(), window.is_whole
    ('2024-05-01T00:00:00+00:00', False)
    """

    day: date
    to_at: datetime

    @property
    def from_at(self) -> datetime:
        """The midnight at which it begins."""
        return midnight(self.day)

    @property
    def is_whole(self) -> bool:
        """Whether the day is over."""
        return self.to_at == self.from_at + DAY

    def has(self, epoch: int) -> bool:
        """Return whether a moment lies within, in seconds since 1970."""
        return self.from_at.timestamp() <= epoch < self.to_at.timestamp()


def midnight(day: date) -> datetime:
    """Return the beginning of a day in UTC."""
    return datetime.combine(day, time(), UTC)


def windows(first: date, to_at: datetime) -> Iterator[Window]:
    """Yield the windows from a day up to a moment, the oldest first.

    >>> found = list(windows(date(2024, 5, 1), datetime(2024, 5, 2, 12, tzinfo=UTC)))
    >>> [(window.day.day, window.is_whole) for window in found]
    [(1, True), (2, False)]
    """
    day = first
    while midnight(day) < to_at:
        yield Window(day, min(midnight(day) + DAY, to_at))
        day += DAY


def is_due(window: Window, complete: Collection[date], now: datetime, look_back_days: int) -> bool:
    """Return whether a window has to be asked for: for the first time, or again because records may have come late."""
    looked_back_to = now.date() - timedelta(days=look_back_days)
    return window.day not in complete or window.day >= looked_back_to
