"""Predictions from a measured rate: the number of events in a future exposure.

The limits account for the uncertainty of the rate, for differences between months, and for chance. The limits of the
rate alone are too narrow for a count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from assets.model.failure_rate import CONFIDENCE_LEVEL, NO_EXPOSURE, dispersed_interval

NEGATIVE_BINOMIAL = "negative_binomial"
POISSON = "poisson"
PRIOR_EVENTS = 0.5
"""Jeffreys' prior adds half an event: the posterior of a rate is Gamma(k + 1/2, T), even with k = 0."""


@dataclass(frozen=True)
class PredictionInterval:
    """Expected counts, with limits for a single future count; all arrays have one shape.

    Attributes
    ----------
    value
        Expected count at the measured rate; `nan` if no event was seen yet or nothing was exposed.
    low, high
        Whole numbers; the future count falls into [low, high], and so does `value`.
    confidence_level
        Nominal probability that it does.
    method
        `negative_binomial`, `poisson` or `no_exposure`, element by element.
    """

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    confidence_level: float
    method: NDArray[np.str_]


def prediction_interval(
    event_count: ArrayLike,
    exposure: ArrayLike,
    future_exposure: ArrayLike,
    confidence_level: float = CONFIDENCE_LEVEL,
    *,
    dispersion: ArrayLike = 1.0,
    relative_variance: ArrayLike = 0.0,
) -> PredictionInterval:
    """Predict the number of events in a future exposure from those counted in a past one.

    Parameters
    ----------
    event_count
        Events k counted, any shape; 0 or more, not necessarily whole.
    exposure
        Exposure T over which they were counted, for instance node-days; broadcast against the others.
    future_exposure
        Exposure t to come, in the same unit, 0 or more.
    confidence_level
        1 - a, between 0 and 1.
    dispersion
        Variance over mean of the past count, phi, 1 or more. Future events come one by one: an incident that fails
        many runs hits a single run once.
    relative_variance
        Possible change of the true rate, as variance over squared mean (`MonthVariation`).

    Returns
    -------
    PredictionInterval
        With k = 0 only the limits are informative; with T = 0 everything is `nan`.

    Raises
    ------
    ValueError
        As in `dispersed_interval`; a future exposure or a relative variance below 0.

    Notes
    -----
    ``value = k t / T``. The limits are the a/2 and 1 - a/2 quantiles of the negative binomial distribution with
    k + 1/2 successes and probability T / (T + t): a Poisson count whose rate has the posterior Gamma(k + 1/2, T). A
    dispersion makes it Gamma(k / phi + 1/2, T / phi). A relative variance v is added to that of the Gamma distribution,
    whose shape s becomes ``1 / (1 / s + v)`` at the same mean. If the expectation is outside, for example because 0.04
    events are most likely none, the limits are widened to include it.

    Assumptions: the mean rate of the future is that of the past. If the rate climbs, the prediction is too low.

    References
    ----------
    J. O. Berger, "Statistical Decision Theory and Bayesian Analysis", on Jeffreys' prior; G. J. Hahn and
    W. Q. Meeker, "Statistical Intervals", chapter on prediction of a Poisson count.

    Examples
    --------
    65 failures in 10,000 node-days; 2,048 nodes for 30 days:

    >>> future = prediction_interval(65, 10_000.0, 2048 * 30)
    >>> print(f"{future.value:.1f} [{future.low:.0f}, {future.high:.0f}]")
    399.4 [318, 494]

    The same where months differ by 30%:

    >>> future = prediction_interval(65, 10_000.0, 2048 * 30, relative_variance=0.09)
    >>> print(f"{future.value:.1f} [{future.low:.0f}, {future.high:.0f}]")
    399.4 [212, 641]
    """
    rate = dispersed_interval(event_count, exposure, dispersion, confidence_level)
    future, variance = np.asarray(future_exposure, dtype=float), np.asarray(relative_variance, dtype=float)
    if np.any(future < 0):
        raise ValueError(f"a future exposure is 0 or more, not {future_exposure!r}")
    if np.any(variance < 0):
        raise ValueError(f"a relative variance is 0 or more, not {relative_variance!r}")
    count, past, phi, method, coming, variance = np.broadcast_arrays(
        rate.event_count, rate.exposure, rate.dispersion, rate.method, future, variance
    )
    known = (method != NO_EXPOSURE) & np.isfinite(coming) & np.isfinite(variance)
    scale = np.where(known, phi * coming / np.where(past > 0, past, 1.0), 0.0)
    counted = np.where(known, count / phi, 0.0) + PRIOR_EVENTS
    mean = counted * scale
    shape = gamma_shape(counted, np.where(known, variance, 0.0))
    low, high = count_limits(mean, shape, confidence_level)
    value = np.where(known & (count > 0), count * coming / np.where(past > 0, past, 1.0), np.nan)
    return PredictionInterval(
        value,
        np.where(known, np.fmin(low, np.floor(value)), np.nan),
        np.where(known, np.fmax(high, np.ceil(value)), np.nan),
        confidence_level,
        np.where(known, NEGATIVE_BINOMIAL, NO_EXPOSURE),
    )


def count_limits(
    mean: NDArray[np.float64], shape: NDArray[np.float64], confidence_level: float = CONFIDENCE_LEVEL
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the a/2 and 1 - a/2 quantiles of negative binomial counts.

    Parameters
    ----------
    mean
        Expected counts, 0 or more.
    shape
        Shape of the Gamma distribution of their means, above 0, of the same shape.
    confidence_level
        1 - a, between 0 and 1.

    Returns
    -------
    tuple of ndarray
        Whole numbers.
    """
    share = shape / (shape + mean)
    return _limits(
        lambda n: special.betainc(shape, n + 1.0, share), mean, mean * (1.0 + mean / shape), confidence_level
    )


def gamma_shape(shape: ArrayLike, relative_variance: ArrayLike) -> NDArray[np.float64]:
    """Widen a Gamma distribution by a relative variance at the same mean.

    Parameters
    ----------
    shape
        Shape s of the distribution, above 0.
    relative_variance
        Variance over squared mean to add, 0 or more; broadcast.

    Returns
    -------
    ndarray
        ``1 / (1 / s + v)``.

    Examples
    --------
    >>> gamma_shape(100.0, 0.09).round(2).item()
    10.0
    """
    s, v = np.asarray(shape, dtype=float), np.asarray(relative_variance, dtype=float)
    return np.asarray(s / (1.0 + v * s))


def prediction_at_known_rate(
    expected_count: ArrayLike, confidence_level: float = CONFIDENCE_LEVEL
) -> PredictionInterval:
    """Predict a count with a known expectation: chance alone, without uncertainty of the rate.

    Parameters
    ----------
    expected_count
        Rate x future exposure, finite and 0 or more.
    confidence_level
        1 - a, between 0 and 1.

    Returns
    -------
    PredictionInterval
        Quantiles a/2 and 1 - a/2 of the Poisson distribution, widened as in `prediction_interval`.

    Raises
    ------
    ValueError
        An expectation below 0, infinite or `nan`.

    Notes
    -----
    Assumptions: the rate is known. If it was estimated, use `prediction_interval`.

    Examples
    --------
    >>> future = prediction_at_known_rate(10.0)
    >>> print(f"{future.value:.0f} [{future.low:.0f}, {future.high:.0f}]")
    10 [5, 15]
    """
    mean = np.asarray(expected_count, dtype=float)
    if not np.all(np.isfinite(mean) & (mean >= 0)):
        raise ValueError(f"an expected count is finite and 0 or more, not {expected_count!r}")
    low, high = _limits(lambda n: special.gammaincc(n + 1.0, mean), mean, mean, confidence_level)
    low, high = np.minimum(low, np.floor(mean)), np.maximum(high, np.ceil(mean))
    return PredictionInterval(mean, low, high, confidence_level, np.full(mean.shape, POISSON))


def _limits(
    below: Callable[[NDArray[np.float64]], NDArray[np.floating]],
    mean: NDArray[np.float64],
    variance: NDArray[np.float64],
    confidence_level: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both quantiles of a count with the distribution function `below`."""
    tail = (1.0 - confidence_level) / 2.0
    ceiling = np.ceil(mean + 12.0 * np.sqrt(variance) + 30.0)
    return _quantile(below, tail, ceiling), _quantile(below, 1.0 - tail, ceiling)


def _quantile(
    below: Callable[[NDArray[np.float64]], NDArray[np.floating]], probability: float, ceiling: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Halve [0, ceiling] down to the smallest whole number at which the distribution function reaches the probability.

    It takes as many steps as the ceiling has binary digits: beyond 2^53, floats skip numbers, and the ends never meet.
    """
    least, most = np.zeros_like(ceiling), ceiling
    for _ in range(int(np.max(np.frexp(ceiling)[1], initial=0))):
        middle = np.floor((least + most) / 2.0)
        is_enough = below(middle) >= probability
        least, most = np.where(is_enough, least, np.minimum(middle + 1.0, most)), np.where(is_enough, middle, most)
    return least
