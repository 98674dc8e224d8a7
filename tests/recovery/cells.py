"""How numbers are written on the page."""

from __future__ import annotations

import math

from tests.recovery.comparison import Rate


def percent(share: float | None) -> str:
    """Round down: only what is whole is written as 100%."""
    return "-" if share is None else f"{math.floor(1000 * share) / 10:.1f}%"


def published(rate: Rate) -> str:
    """Write a published rate with its limits."""
    return "-" if rate.rate is None else f"{rate.rate:.2f} ({rate.low:.2f} to {rate.high:.2f})"


def against(rate: Rate, value: float | None) -> str:
    """Write another value of a rate and whether the published interval holds it."""
    return "-" if value is None else f"{value:.2f}, {'inside' if rate.holds(value) else 'outside'}"
