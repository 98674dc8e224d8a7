"""The planted rates of faults over time: the factors of months, the expected faults, and when rates change."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
from numpy.typing import NDArray

from assets.simulation.ledger import Ledger
from assets.simulation.profiles import DAY, Profile

Floats = NDArray[np.float64]


class Months:
    """The calendar months of a simulation and the factors on the rate of single faults in them.

    `factors` has the start and the factor (mean 1) of each month. It is empty if months do not differ.
    """

    def __init__(self, profile: Profile, rng: np.random.Generator) -> None:
        self.factors: list[tuple[int, float]] = []
        if profile.month_variation > 0:
            shape = profile.month_variation**-2
            starts = month_starts(profile)
            self.factors = list(zip(starts, rng.gamma(shape, 1 / shape, len(starts)).tolist(), strict=True))

    def after(self, now: float, seconds: float) -> float:
        """Return the time when `seconds` have passed on a clock that runs at the speed of the month's factor."""
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
    """Return the seconds at which the calendar months begin, without regard to the clocks; the first begins at 0."""
    month: date = profile.first_day
    starts: list[int] = []
    while (second := (month - profile.first_day).days * DAY) < profile.horizon:
        starts.append(second)
        month = (month.replace(day=1) + timedelta(days=32)).replace(day=1)
    return starts


def held_node_days(ledger: Ledger, low: float, high: float) -> Floats:
    """Return the node-days of each attempt between two seconds."""
    begun, ended = _held(ledger, low, high)
    return (ended - begun) / DAY * np.diff(ledger.nodes.starts)


def expected_faults(profile: Profile, ledger: Ledger, low: float, high: float) -> Floats:
    """Return the expected number of faults on each attempt's nodes, while it held them, between two seconds.

    The faults of single nodes, of lemons and of bursts count. Shared faults and crash loops have no rate.
    """
    begun, ended = _held(ledger, low, high)
    row = np.repeat(np.arange(len(begun)), np.diff(ledger.nodes.starts))
    nodes, begun, ended = ledger.nodes.values, begun[row], ended[row]
    rates = np.full(profile.node_count, profile.fault_rate)
    for node, lemon in profile.lemon_nodes.items():
        rates[node] = lemon.rate
    expected = rates[nodes] * (_month_clock(ledger, ended) - _month_clock(ledger, begun)) / DAY
    for burst in profile.bursts:
        places = np.bincount(burst.struck(profile), minlength=profile.node_count).astype(np.float64)
        overlap = (np.minimum(ended, burst.last_day * DAY) - np.maximum(begun, burst.first_day * DAY)).clip(0)
        expected += burst.rate * places[nodes] * overlap / DAY
    summed: Floats = np.bincount(row, expected, minlength=len(ledger.attempts)).astype(np.float64)
    return summed


def _held(ledger: Ledger, low: float, high: float) -> tuple[Floats, Floats]:
    """Return when each attempt began and stopped holding its nodes, clipped to a span of time."""
    start, end = ledger.attempts["start"], ledger.attempts["end"]
    begun = np.where(start >= 0, start, high).clip(low, high).astype(np.float64)
    ended = np.where(end >= 0, end, high).clip(low, high).astype(np.float64)
    return begun, np.maximum(begun, ended)


def _month_clock(ledger: Ledger, seconds: Floats) -> Floats:
    """Return the time on a clock that runs at the speed of each month's factor."""
    if not ledger.month_factors:
        return seconds
    starts, factors = (np.array(column, np.float64) for column in zip(*ledger.month_factors, strict=True))
    at_start = np.concatenate([[0.0], np.cumsum(np.diff(starts) * factors[:-1])])
    month = np.searchsorted(starts, seconds, "right") - 1
    passed: Floats = at_start[month] + (seconds - starts[month]) * factors[month]
    return passed


def rate_changes(profile: Profile, ledger: Ledger) -> list[tuple[int, str | None, float, float]]:
    """Return the changes of the fleet's rate per 1,000 node-days: second, category (None for all), old and new rate.

    Lemons are part of the rate; shared faults and crash loops are not.
    """
    when: dict[int, str | None] = {}
    for burst in profile.bursts:
        when |= {round(day * DAY): burst.category for day in (burst.first_day, burst.last_day)}
    when |= {start: None for start, _ in ledger.month_factors}
    return [
        (at, when[at], _fleet_rate(profile, ledger, at - 1), _fleet_rate(profile, ledger, at))
        for at in sorted(when)
        if 0 < at < profile.horizon
    ]


def _fleet_rate(profile: Profile, ledger: Ledger, at: int) -> float:
    """Return the mean rate over the fleet at a second."""
    lemons = profile.lemon_nodes.values()
    of_others = profile.fault_rate * (profile.node_count - len(lemons))
    base = (sum(lemon.rate for lemon in lemons) + of_others) / profile.node_count
    factor = next((factor for start, factor in reversed(ledger.month_factors) if start <= at), 1.0)
    bursts = sum(
        burst.rate * (len(burst.positions) / profile.node_count if burst.positions else 1)
        for burst in profile.bursts
        if burst.first_day * DAY <= at < burst.last_day * DAY
    )
    return 1000 * (base * factor + bursts)
