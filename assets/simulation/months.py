"""Differences between months: in each month the rate of faults is the planted rate times a factor of its own."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np

from assets.simulation.profiles import DAY, Profile


class Months:
    """The calendar months of a simulation and their factors.

    Parameters
    ----------
    profile
        The cluster; its `month_variation` is the coefficient of variation of the factors, whose mean is 1.
    rng
        Source of random numbers for the factors; not used if months do not differ.

    Attributes
    ----------
    factors
        When each month begins, in simulated seconds, and its factor; empty if months do not differ. A month begins at
        midnight without regard to daylight saving.
    """

    def __init__(self, profile: Profile, rng: np.random.Generator) -> None:
        self.factors: list[tuple[int, float]] = []
        if profile.month_variation > 0:
            shape = profile.month_variation**-2
            starts = month_starts(profile)
            self.factors = list(zip(starts, rng.gamma(shape, 1 / shape, len(starts)).tolist(), strict=True))

    def after(self, now: float, seconds: float) -> float:
        """Return the time at which so many seconds have passed on a clock that runs as fast as the month's factor."""
        for number, (start, factor) in enumerate(self.factors):
            end = self.factors[number + 1][0] if number + 1 < len(self.factors) else float("inf")
            if now >= end:
                continue
            passed = (end - max(now, start)) * factor
            if seconds <= passed:
                return max(now, start) + seconds / factor
            seconds, now = seconds - passed, end
        return now + seconds


def month_starts(profile: Profile) -> list[int]:
    """Return the simulated seconds at which the calendar months begin; the first begins at 0."""
    first, starts = profile.first_day, [0]
    month: date = first
    while True:
        month = (month.replace(day=1) + timedelta(days=32)).replace(day=1)
        second = (month - first).days * DAY
        if second >= profile.horizon:
            return starts
        starts.append(second)
