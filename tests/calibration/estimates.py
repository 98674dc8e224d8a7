"""Shares, rates and means of simulated clusters with their standard errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Estimate:
    """A value with its standard error, and the counts behind it as text."""

    value: float
    error: float = 0.0
    counted: str = ""


def ratio(numerators: NDArray[Any], denominators: NDArray[Any], factor: float = 1.0) -> Estimate:
    """Return the ratio of two sums over the same units, with its linearised error; `nan` if the divisor is 0.

    Parameters
    ----------
    numerators, denominators
        One value per unit (attempt, run, day). Units are assumed to be independent.
    factor
        Factor on the ratio: 100 for percent.
    """
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
    counted = f"{int(chosen.sum()):,} of {len(chosen):,}"
    found = ratio(np.where(chosen, weighed, 0), weighed, 100)
    if math.isnan(found.value):
        return Estimate(math.nan, 0.0, counted)
    size = float(weighed.sum()) ** 2 / float((weighed**2).sum())
    cautious = (found.value / 100 * size + 1) / (size + 2)
    error = max(found.error, 100 * math.sqrt(cautious * (1 - cautious) / (size + 2)))
    return Estimate(found.value, error, counted)


def mean(values: NDArray[Any]) -> Estimate:
    """Return the mean of values."""
    return ratio(values, np.ones(len(values)))


def rate(incidents: NDArray[np.int64], exposure: float, factor: float = 1.0) -> Estimate:
    """Return events per exposure. The error is that of the incidents, because events of one incident come together.

    Parameters
    ----------
    incidents
        The incident of each event.
    exposure
        Node-days or GPU-hours.
    factor
        Factor on the rate.
    """
    if exposure <= 0:
        return Estimate(math.nan)
    sizes = np.unique(incidents, return_counts=True)[1]
    error = max(1.0, float(np.sqrt((sizes.astype(np.float64) ** 2).sum())))
    counted = f"{len(incidents):,} in {len(sizes):,} incidents"
    return Estimate(factor * len(incidents) / exposure, factor * error / exposure, counted)


def difference(minuend: Estimate, subtrahend: Estimate) -> Estimate:
    """Return the difference of two independent estimates."""
    counted = f"{minuend.value:.3g} and {subtrahend.value:.3g}"
    return Estimate(minuend.value - subtrahend.value, math.hypot(minuend.error, subtrahend.error), counted)


def quotient(dividend: Estimate, divisor: Estimate) -> Estimate:
    """Return the quotient of two independent estimates; `nan` unless both are positive."""
    if not divisor.value > 0 or not dividend.value > 0:
        return Estimate(math.nan)
    value = dividend.value / divisor.value
    relative = math.hypot(dividend.error / dividend.value, divisor.error / divisor.value)
    return Estimate(value, value * relative)
