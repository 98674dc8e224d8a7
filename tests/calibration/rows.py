"""Rows of the calibration table: the paper's value, the simulated value with its error, and the tolerance.

If only a part of a cluster is simulated, the tolerance is widened because the counts are smaller, and rows that need
the whole cluster are not judged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

CHANCE = 3.0
"""Standard errors by which the tolerance of a part is widened."""
SCALE, PERIOD = "all nodes", "all days"
WHOLE = (SCALE, PERIOD)


@dataclass(frozen=True)
class Estimate:
    """A value with its standard error."""

    value: float
    error: float = 0.0


def ratio(numerators: NDArray[Any], denominators: NDArray[Any], factor: float = 1.0) -> Estimate:
    """Return the ratio of two sums over the same independent units, with its linearised error; `nan` over 0."""
    above, below = numerators.astype(np.float64), denominators.astype(np.float64)
    total = float(below.sum())
    if total <= 0:
        return Estimate(math.nan)
    value = float(above.sum()) / total
    return Estimate(factor * value, factor * float(np.sqrt(((above - value * below) ** 2).sum())) / total)


def share(chosen: NDArray[np.bool_], weights: NDArray[Any] | None = None) -> Estimate:
    """Return the share of units in percent, by count or by weight.

    The error is at least that of Agresti and Coull, because none of four does not mean never.
    """
    weighed = np.ones(len(chosen)) if weights is None else weights.astype(np.float64)
    found = ratio(np.where(chosen, weighed, 0), weighed, 100)
    if math.isnan(found.value):
        return found
    size = float(weighed.sum()) ** 2 / float((weighed**2).sum())
    cautious = (found.value / 100 * size + 1) / (size + 2)
    error = max(found.error, 100 * math.sqrt(cautious * (1 - cautious) / (size + 2)))
    return Estimate(found.value, error)


def mean(values: NDArray[Any]) -> Estimate:
    """Return the mean of values."""
    return ratio(values, np.ones(len(values)))


def rate(incidents: NDArray[np.int64], exposure: float, factor: float = 1.0) -> Estimate:
    """Return events, given by their incident, per exposure. The events of one incident come together."""
    if exposure <= 0:
        return Estimate(math.nan)
    sizes = np.unique(incidents, return_counts=True)[1]
    error = max(1.0, float(np.sqrt((sizes.astype(np.float64) ** 2).sum())))
    return Estimate(factor * len(incidents) / exposure, factor * error / exposure)


def difference(minuend: Estimate, subtrahend: Estimate) -> Estimate:
    """Return the difference of two independent estimates."""
    return Estimate(minuend.value - subtrahend.value, math.hypot(minuend.error, subtrahend.error))


def quotient(dividend: Estimate, divisor: Estimate) -> Estimate:
    """Return the quotient of two independent estimates; `nan` unless both are positive."""
    if not divisor.value > 0 or not dividend.value > 0:
        return Estimate(math.nan)
    value = dividend.value / divisor.value
    return Estimate(value, value * math.hypot(dividend.error / dividend.value, divisor.error / divisor.value))


@dataclass(frozen=True)
class Band:
    """The range of a value, ends included, with the paper's value or words and the tolerance as text."""

    paper: str
    low: float
    high: float
    tolerance: str


def near(paper: float, points: float) -> Band:
    """Accept the paper's value within so many points."""
    return Band(shown(paper), paper - points, paper + points, f"± {points:g} points")


def about(paper: float, percent: float) -> Band:
    """Accept the paper's value within so many percent of it."""
    margin = paper * percent / 100
    return Band(shown(paper), paper - margin, paper + margin, f"± {percent:g}%")


def exactly(paper: float) -> Band:
    """Accept the paper's value only."""
    return Band(shown(paper), paper, paper, "exact")


def above(low: float, words: str = "") -> Band:
    """Ask for a bound of the paper's, or for one that stands for its words."""
    return Band(words or f"> {shown(low)}", low, math.inf, f"at least {shown(low)}")


def below(high: float, words: str = "") -> Band:
    """Ask for a bound of the paper's, or for one that stands for its words."""
    return Band(words or f"< {shown(high)}", -math.inf, high, f"at most {shown(high)}")


def between(low: float, high: float, words: str) -> Band:
    """Accept a value between bounds that represent words of the paper."""
    return Band(words, low, high, f"{shown(low)} to {shown(high)}" if low < high else f"must be {shown(high)}")


@dataclass(frozen=True)
class Part:
    """Which part of a cluster was simulated."""

    has_all_nodes: bool
    has_all_days: bool


@dataclass(frozen=True)
class Row:
    """One value of the paper and its simulated counterpart, not judged if a part of a cluster cannot show it."""

    figure: str
    quantity: str
    cluster: str
    seen: Estimate
    unit: str
    band: Band
    is_judged: bool

    @property
    def is_inside(self) -> bool:
        """Whether the value is within its band. `nan` never is."""
        return self.band.low <= self.seen.value <= self.band.high

    @property
    def verdict(self) -> str:
        """Return yes, no or not judged."""
        return ("yes" if self.is_inside else "no") if self.is_judged else "not judged"


def judged(
    names: tuple[str, str, str], found: Estimate | float, band: Band, unit: str, needs: tuple[str, ...], part: Part
) -> Row:
    """Make a row of a figure, quantity and cluster. On a part, the tolerance is widened by the error."""
    seen = found if isinstance(found, Estimate) else Estimate(float(found))
    has = {SCALE: part.has_all_nodes, PERIOD: part.has_all_days}
    is_whole = all(has.values())
    if not is_whole and seen.error > 0:
        margin = CHANCE * seen.error
        words = f"{band.tolerance}, wider by {CHANCE:.0f} standard errors ({shown(margin)})"
        band = replace(band, low=band.low - margin, high=band.high + margin, tolerance=words)
    is_judged = all(has[need] for need in needs) and (is_whole or not math.isnan(seen.value))
    return Row(*names, seen, unit, band, is_judged)


def shown(value: float) -> str:
    """Format a number with three digits, or more for whole numbers."""
    if math.isnan(value):
        return "none"
    if value == round(value, 0) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
