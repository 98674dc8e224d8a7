"""The cluster's wall clock, with daylight saving, for whole columns of times at once.

It returns what `datetime.fromtimestamp(..., zone)` returns, without a datetime per row.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from assets.simulation.profiles import DAY

MARGIN_DAYS = 400
"""Times may lie so many days before the first day or after the last, such as boots and repairs."""


class WallClock:
    """Converts simulated seconds to local time.

    Parameters
    ----------
    zone
        The zone of the cluster.
    first_day, days
        The simulated days. Second 0 is the first day's local midnight.
    """

    def __init__(self, zone: ZoneInfo, first_day: date, days: int) -> None:
        self._first_day = np.datetime64(first_day, "D")
        self.epoch = midnight(first_day, zone)
        self._low, self._high = -MARGIN_DAYS * DAY, (days + MARGIN_DAYS) * DAY
        self._changes, self._offsets = _offsets(zone, self.epoch + self._low, self.epoch + self._high)

    def _local(self, seconds: NDArray[Any]) -> NDArray[np.int64]:
        """Return local time as seconds since 1970 on the wall clock."""
        if len(seconds) and not self._low <= int(seconds.min()) <= int(seconds.max()) < self._high:
            raise ValueError(f"a time is more than {MARGIN_DAYS} days away from what is simulated")
        utc = seconds.astype(np.int64) + self.epoch
        return utc + self._offsets[np.searchsorted(self._changes, utc, side="right") - 1]

    def texts(self, seconds: NDArray[Any]) -> list[str]:
        """Format times as Slurm does: whole seconds without a zone."""
        written: list[str] = np.datetime_as_string(self._local(seconds).astype("datetime64[s]")).tolist()
        return written

    def texts_with_milliseconds(self, seconds: NDArray[Any], milliseconds: NDArray[Any]) -> list[str]:
        """Format times as the controller's log does."""
        local = (self._local(seconds) * 1000 + milliseconds).astype("datetime64[ms]")
        written: list[str] = np.datetime_as_string(local).tolist()
        return written

    def days(self, seconds: NDArray[Any]) -> NDArray[np.int64]:
        """Count the local days since the first one."""
        return self._local(seconds) // DAY - self._first_day.astype(np.int64)

    def date(self, day: int) -> str:
        """Format the date of a local day."""
        return str(self._first_day + day)


def midnight(day: date, zone: ZoneInfo) -> int:
    """Return the epoch seconds at which a day begins."""
    return int(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp())


def _offsets(zone: ZoneInfo, low: int, high: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the epochs from which each offset from UTC holds, and the offsets in seconds."""

    def offset(epoch: int) -> int:
        shift = datetime.fromtimestamp(epoch, UTC).astimezone(zone).utcoffset() or timedelta()
        return int(shift.total_seconds())

    changes, offsets = [low], [offset(low)]
    for until in range(low + DAY, high + DAY, DAY):
        if offset(until) == offsets[-1]:
            continue
        before, after = until - DAY, until
        while after - before > 1:
            middle = (before + after) // 2
            before, after = (middle, after) if offset(middle) == offsets[-1] else (before, middle)
        changes.append(after)
        offsets.append(offset(after))
    return np.array(changes), np.array(offsets)
