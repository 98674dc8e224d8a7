"""Rates of rare events: a count, an exposure, and exact Poisson limits, with the paper's Gamma quantiles.

A rate is per unit of the exposure that went in: failures over node-days are failures per node-day, so that
6.5 per 1,000 node-days is 0.0065. Without exposure nothing is stated: value and limits are `nan`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

CONFIDENCE_LEVEL = 0.90
"""Of all limits, unless another level is given."""

GARWOOD = "garwood"
GARWOOD_UPPER_LIMIT = "garwood_upper_limit"
GARWOOD_DISPERSED = "garwood_dispersed"
NO_EXPOSURE = "no_exposure"


@dataclass(frozen=True)
class RateInterval:
    """Rates with their limits, and the counts and exposures behind them; all arrays have one shape.

    Attributes
    ----------
    event_count, exposure
        Counted events, and the exposure over which they were counted.
    value, low, high
        Events per unit of exposure; `nan` without exposure.
    confidence_level
        Nominal probability that [low, high] covers the true rate.
    method
        The method of the limits, element by element: one of the constants of this module.
    dispersion
        Variance of the count over its mean; 1 for events that come one by one and are certain.
    """

    event_count: NDArray[np.float64]
    exposure: NDArray[np.float64]
    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    confidence_level: float
    method: NDArray[np.str_]
    dispersion: NDArray[np.float64] | float = 1.0


def garwood_interval(
    event_count: ArrayLike, exposure: ArrayLike, confidence_level: float = CONFIDENCE_LEVEL
) -> RateInterval:
    """Estimate rates with exact Poisson limits.

    Parameters
    ----------
    event_count
        Events k, any shape; whole numbers, 0 or more.
    exposure
        Exposure T, for instance node-days or hours, 0 or more; broadcast against `event_count`.
    confidence_level
        1 - a, between 0 and 1.

    Returns
    -------
    RateInterval
        Per unit of exposure. With k = 0 the value and `low` are 0, and only `high` is informative
        (method `garwood_upper_limit`). With T = 0, or `nan` in either input, everything is `nan` (`no_exposure`).

    Raises
    ------
    ValueError
        Negative or fractional counts, negative or infinite exposure, a level outside (0, 1).

    Notes
    -----
    ``low = chi2(a/2; 2k) / 2T`` and ``high = chi2(1 - a/2; 2k + 2) / 2T``, written with the inverse incomplete gamma
    function because ``chi2(p; 2k) / 2 = gammaincinv(k, p)``. With k = 0 the upper limit is the one-sided one at
    confidence 1 - a/2: at the default level, 2.996 / T holds with 95%.

    Assumptions: events are independent, and the rate is constant over the exposure. If failures come in groups (one
    switch, many jobs) the limits are too narrow; count incidents then. The limits are conservative: with few events
    they cover more often than nominal.

    References
    ----------
    F. Garwood, "Fiducial limits for the Poisson distribution", Biometrika 28 (1936) 437-442.

    Examples
    --------
    >>> rate = garwood_interval(5, 1.0)
    >>> print(f"{rate.value:.1f} [{rate.low:.3f}, {rate.high:.3f}]")
    5.0 [1.970, 10.513]
    >>> rate = garwood_interval([0, 3], [1.0, 0.0])
    >>> rate.high.round(3).tolist(), rate.method.tolist()
    ([2.996, nan], ['garwood_upper_limit', 'no_exposure'])
    """
    count, time = _whole(event_count, exposure, confidence_level)
    return dispersed_interval(count, time, 1.0, confidence_level)


def dispersed_interval(
    event_count: ArrayLike,
    exposure: ArrayLike,
    dispersion: ArrayLike,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> RateInterval:
    """Estimate rates from counts that need not be whole and scatter more than Poisson counts do.

    Parameters
    ----------
    event_count
        Events k, any shape; real numbers, 0 or more, such as a sum of probabilities.
    exposure
        Exposure T, 0 or more; broadcast against `event_count`.
    dispersion
        Variance of the count over its mean, phi, 1 or more; broadcast against `event_count`.
    confidence_level
        1 - a, between 0 and 1.

    Returns
    -------
    RateInterval
        As from `garwood_interval`, and the same numbers if k is whole and phi is 1; otherwise the method is
        `garwood_dispersed`.

    Raises
    ------
    ValueError
        Negative counts, negative or infinite exposure, a dispersion below 1, a level outside (0, 1).

    Notes
    -----
    Garwood's limits at shape ``k / phi`` over ``T / phi``: ``low = gammaincinv(k / phi, a/2) phi / T`` and
    ``high = gammaincinv(k / phi + 1, 1 - a/2) phi / T``. A count whose mean is k and whose variance is k phi is treated
    as phi times a Poisson count.

    Assumptions: phi is known. A handful of incidents of very different size does not determine it.

    References
    ----------
    P. McCullagh and J. A. Nelder, *Generalized Linear Models*, 2nd ed. (1989), section 6.2, on over-dispersed counts.

    Examples
    --------
    >>> rate = dispersed_interval([5, 5, 4.5], 1.0, [1, 2, 1])
    >>> rate.low.round(3).tolist(), rate.high.round(3).tolist(), rate.method.tolist()
    ([1.97, 1.145, 1.663], [10.513, 14.067, 9.838], ['garwood', 'garwood_dispersed', 'garwood_dispersed'])
    """
    count, time = _checked(event_count, exposure, confidence_level)
    count, time, phi = np.broadcast_arrays(count, time, np.asarray(dispersion, dtype=float))
    if np.any(phi < 1):
        raise ValueError(f"a dispersion is 1 or more, not {dispersion!r}")
    tail = (1.0 - confidence_level) / 2.0
    known = np.isfinite(count) & np.isfinite(phi) & (time > 0)
    divisor = np.where(known, time / phi, np.nan)
    shape = np.where(count > 0, count / phi, 1.0)
    low = np.where(count > 0, special.gammaincinv(shape, tail), 0.0) / divisor
    high = special.gammaincinv(count / phi + 1.0, 1.0 - tail) / divisor
    is_plain = (np.floor(count) == count) & (phi == 1)
    method = np.select(
        [~known, count == 0, is_plain], [NO_EXPOSURE, GARWOOD_UPPER_LIMIT, GARWOOD], default=GARWOOD_DISPERSED
    )
    return RateInterval(count, time, count / np.where(known, time, np.nan), low, high, confidence_level, method, phi)


def _whole(
    event_count: ArrayLike, exposure: ArrayLike, confidence_level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    count, time = _checked(event_count, exposure, confidence_level)
    if np.any(np.floor(count) != count, where=~np.isnan(count)):
        raise ValueError(f"counts of events that are certain are whole numbers, not {event_count!r}")
    return count, time


def _checked(
    event_count: ArrayLike, exposure: ArrayLike, confidence_level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    count, time = np.broadcast_arrays(np.asarray(event_count, dtype=float), np.asarray(exposure, dtype=float))
    if np.any(count < 0):
        raise ValueError(f"event counts are 0 or more, not {event_count!r}")
    if np.any(time < 0) or np.any(np.isinf(time)):
        raise ValueError(f"an exposure is finite and 0 or more, not {exposure!r}")
    if not 0.0 < confidence_level < 1.0:
        raise ValueError(f"a confidence level lies between 0 and 1, not {confidence_level!r}")
    return count, time
