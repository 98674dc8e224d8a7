"""The exposure of attempts within a span of time: their node-days and the number of faults to expect."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from assets.simulation.ledger import Ledger
from assets.simulation.profiles import DAY, Profile

Floats = NDArray[np.float64]
Measure = Callable[[Floats], Floats]


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
    lemons = {profile.node_at(lemon.position): lemon.rate for lemon in profile.lemons}
    rates = np.array([lemons.get(node, profile.fault_rate) for node in range(profile.node_count)])
    passed = _month_clock(ledger)
    expected = rates[nodes] * (passed(ended) - passed(begun)) / DAY
    for burst in profile.bursts:
        first, last = burst.first_day * DAY, burst.last_day * DAY
        places = np.ones(profile.node_count)
        if burst.positions:
            struck = [profile.node_at(position) for position in burst.positions]
            places = np.bincount(struck, minlength=profile.node_count).astype(np.float64)
        overlap = (np.minimum(ended, last) - np.maximum(begun, first)).clip(0)
        expected += burst.rate * places[nodes] * overlap / DAY
    summed: Floats = np.bincount(row, expected, minlength=len(ledger.attempts)).astype(np.float64)
    return summed


def _held(ledger: Ledger, low: float, high: float) -> tuple[Floats, Floats]:
    """Return when each attempt began and stopped holding its nodes, clipped to a span of time."""
    start, end = ledger.attempts["start"], ledger.attempts["end"]
    begun = np.where(start >= 0, start, high).clip(low, high).astype(np.float64)
    ended = np.where(end >= 0, end, high).clip(low, high).astype(np.float64)
    return begun, np.maximum(begun, ended)


def _month_clock(ledger: Ledger) -> Measure:
    """Return a clock that runs as fast as the factor of each month."""
    if not ledger.month_factors:
        return lambda seconds: seconds
    starts, factors = (np.array(column, np.float64) for column in zip(*ledger.month_factors, strict=True))
    at_start = np.concatenate([[0.0], np.cumsum(np.diff(starts) * factors[:-1])])

    def passed(seconds: Floats) -> Floats:
        month = np.searchsorted(starts, seconds, "right") - 1
        run: Floats = at_start[month] + (seconds - starts[month]) * factors[month]
        return run

    return passed
