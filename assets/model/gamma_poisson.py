"""Counts of units whose rates differ: Poisson given the rate, rates from a Gamma distribution, so negative binomial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Group:
    """Units whose rates come from one Gamma distribution: mean rate per unit of exposure, and shape (1 / CV^2)."""

    rate: float
    shape: float


class Units:
    """Counts and exposures of units, with the terms of the density that do not depend on a group.

    A fit asks for the density of the same units hundreds of times, and many units have the same count. Terms of
    the counts alone are computed once, those of count and group once per distinct count.

    Parameters
    ----------
    count, time
        Events and exposure of each unit; no exposure is 0.
    """

    def __init__(self, count: Floats, time: Floats) -> None:
        self._count, self._time = count, time
        self._distinct, self._place = np.unique(count, return_inverse=True)
        self._arrangements = special.gammaln(count + 1.0)
        self._log_times = special.xlogy(count, time)

    def log_density(self, group: Group) -> Floats:
        """Return the log-probability of each count, fractional ones by the same formula.

        Notes
        -----
        Negative binomial: ``lgamma(k + a) - lgamma(a) - lgamma(k + 1) + a log(b / (b + T)) + k log(T / (b + T))`` with
        shape ``a`` and ``b = a / rate``.

        Examples
        --------
        >>> units = Units(np.array([0.0]), np.array([1.0]))
        >>> print(f"{np.exp(units.log_density(Group(rate=2.0, shape=1.0)))[0]:.4f}")
        0.3333
        """
        inverse = group.shape / group.rate
        log_total = np.log(inverse + self._time)
        density: Floats = (
            special.gammaln(self._distinct + group.shape)[self._place]
            - special.gammaln(group.shape)
            - self._arrangements
            + group.shape * (np.log(inverse) - log_total)
            + self._log_times
            - self._count * log_total
        )
        return density

    def slopes(self, group: Group) -> tuple[Floats, Floats]:
        """Return the derivatives of the log-density by log rate and by log shape."""
        inverse = group.shape / group.rate
        total = inverse + self._time
        by_rate = (group.shape + self._count) * inverse / total - group.shape
        by_shape = group.shape * (
            special.digamma(self._distinct + group.shape)[self._place]
            - special.digamma(group.shape)
            + np.log(inverse)
            - np.log(total)
        )
        return by_rate, by_shape + group.shape - (group.shape + self._count) * inverse / total


def posterior(group: Group, count: Floats, time: Floats) -> tuple[Floats, Floats]:
    """Return shape and inverse scale of the Gamma posterior of a node's rate."""
    return group.shape + count, group.shape / group.rate + time


def mixture_probability(rate: Floats, parts: Sequence[tuple[Floats, Floats, Floats]]) -> Floats:
    """Return the probability that each unit's own rate is below `rate`; `parts` as in `mixture_quantile`."""
    below: Floats = np.sum([share * special.gammainc(shape, rate * inverse) for share, shape, inverse in parts], axis=0)
    return below


def mixture_quantile(level: float | Floats, parts: Sequence[tuple[Floats, Floats, Floats]]) -> Floats:
    """Return the rate that a unit's own rate is below with probability `level`.

    Parameters
    ----------
    level
        Between 0 and 1, one for all or one for each unit.
    parts
        Gamma distributions of each unit's rate: share (they sum to 1 for a unit), shape, inverse scale.

    Notes
    -----
    The quantile of a mixture lies between the quantiles of its parts, and is found by halving in the logarithm.
    """
    ends = [special.gammaincinv(shape, level) / inverse for _, shape, inverse in parts]
    low, high = np.log(np.min(ends, axis=0)), np.log(np.max(ends, axis=0))
    for _ in range(26):
        middle = (low + high) / 2
        below = mixture_probability(np.exp(middle), parts)
        low, high = np.where(below < level, middle, low), np.where(below < level, high, middle)
    quantile: Floats = np.exp((low + high) / 2)
    return quantile


def checked(event_count: ArrayLike, exposure: ArrayLike) -> tuple[Floats, Floats]:
    """Return counts and exposures as arrays; raise `ValueError` for impossible ones."""
    count, time = np.asarray(event_count, dtype=float), np.asarray(exposure, dtype=float)
    if count.shape != time.shape:
        raise ValueError(f"counts and exposures have one shape, not {count.shape} and {time.shape}")
    if np.any(~np.isfinite(count)) or np.any(count < 0) or np.any(~np.isfinite(time)) or np.any(time < 0):
        raise ValueError("counts and exposures are finite and 0 or more")
    return count, time
