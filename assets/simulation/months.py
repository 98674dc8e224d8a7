"""Months that are not alike: in each of them faults strike at the planted rate times a factor of its own."""

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
        Source of chance for the factors; not asked where months are alike.

    Attributes
    ----------
    factors
        When each month begins, in simulated seconds, and its factor; empty where months are alike. A month begins at
        midnight, without regard to daylight saving.
    """

    def __init__(self, profile: Profile, rng: np.random.Generator) -> None:
        self.factors: list[tuple[int, float]] = []
        if profile.month_variation > 0:
            shape = profile.month_variation**-2
            starts = month_starts(profile)
            self.factors = list(zip(starts, rng.gamma(shape, 1 / shape, len(starts)).tolist(), strict=True))

    def after(self, now: float, seconds: float) -> float:
        """Give the time at which so many seconds have passed on a clock that runs at the factor of the month."""
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
    """Give the simulated seconds at which the calendar months begin, the first of them at 0."""
    first, starts = profile.first_day, [0]
    month: date = first
    while True:
        month = (month.replace(day=1) + timedelta(days=32)).replace(day=1)
        second = (month - first).days * DAY
        if second >= profile.horizon:
            return starts
        starts.append(second)
