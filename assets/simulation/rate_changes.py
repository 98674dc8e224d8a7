"""When the planted rate of faults changed: at the beginning and end of bursts, and between months."""

from __future__ import annotations

from dataclasses import dataclass

from assets.simulation.ledger import Ledger
from assets.simulation.profiles import DAY, Profile


@dataclass(frozen=True)
class RateChange:
    """A change of the rate of independent faults over the fleet, per 1,000 node-days.

    Attributes
    ----------
    at
        Simulated second.
    category
        The only category whose rate changes; None for all.
    """

    at: int
    category: str | None
    before: float
    after: float


def rate_changes(profile: Profile, ledger: Ledger) -> list[RateChange]:
    """Return the changes in order of time. Lemons are part of the rate; shared faults and crash loops are not."""
    when: dict[int, str | None] = {}
    for burst in profile.bursts:
        for day in (burst.first_day, burst.last_day):
            when[round(day * DAY)] = burst.category
    for start, _ in ledger.month_factors:
        when[start] = None
    return [
        RateChange(at, when[at], _fleet_rate(profile, ledger, at - 1), _fleet_rate(profile, ledger, at))
        for at in sorted(when)
        if 0 < at < profile.horizon
    ]


def _fleet_rate(profile: Profile, ledger: Ledger, at: int) -> float:
    """Return the mean rate over the fleet at a second."""
    lemons = {profile.node_at(lemon.position): lemon.rate for lemon in profile.lemons}
    base = (sum(lemons.values()) + profile.fault_rate * (profile.node_count - len(lemons))) / profile.node_count
    factor = next((factor for start, factor in reversed(ledger.month_factors) if start <= at), 1.0)
    bursts = sum(
        burst.rate * (len(burst.positions) / profile.node_count if burst.positions else 1)
        for burst in profile.bursts
        if burst.first_day * DAY <= at < burst.last_day * DAY
    )
    return 1000 * (base * factor + bursts)
