"""Forecasts of a month's failures from the months before, and their scores once the month is over.

A forecast is a distribution. Its score is its probability of what happened; another measure is whether its limits held.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from assets.model.failure_rate import CONFIDENCE_LEVEL
from assets.model.gamma_poisson import Group, Units
from assets.model.month_variation import MonthVariation
from assets.model.prediction import PRIOR_EVENTS, count_limits

MIN_MEAN = 1e-9


@dataclass(frozen=True)
class CountForecast:
    """Negative binomial distributions of future counts; all arrays have one shape.

    Attributes
    ----------
    mean
        Expected count.
    shape
        1 over the relative variance beyond Poisson: small if little is known or months differ.
    low, high
        Whole numbers between which the count falls.
    confidence_level
        Probability that it does.
    """

    mean: NDArray[np.float64]
    shape: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    confidence_level: float

    def log_score(self, count: ArrayLike) -> NDArray[np.float64]:
        """Return the natural logarithm of the probability of what happened: 0 at best, lower is worse.

        Parameters
        ----------
        count
            What happened, broadcast; a sum of probabilities need not be whole and is scored by the same formula.

        References
        ----------
        T. Gneiting and A. E. Raftery, "Strictly proper scoring rules, prediction, and estimation", Journal of the
        American Statistical Association 102 (2007) 359-378.
        """
        happened, mean, shape = np.broadcast_arrays(np.asarray(count, dtype=float), self.mean, self.shape)
        scores = [
            Units(np.array([k]), np.array([1.0])).log_density(Group(rate=max(m, MIN_MEAN), shape=a))[0]
            for k, m, a in zip(happened.ravel(), mean.ravel(), shape.ravel(), strict=True)
        ]
        return np.reshape(np.array(scores, dtype=np.float64), happened.shape)

    def holds(self, count: ArrayLike) -> NDArray[np.bool_]:
        """Return whether what happened, rounded to a whole number, is within the limits."""
        happened = np.round(np.asarray(count, dtype=float))
        return (self.low <= happened) & (happened <= self.high)


def forecast_count(
    event_count: float,
    event_variance: float,
    exposure: float,
    future_exposure: float,
    variation: MonthVariation,
    *,
    future_days: float = 30.0,
    exposure_variance: float = 0.0,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> CountForecast:
    """Forecast the failures of a whole cluster in a month from those of the months before.

    Parameters
    ----------
    event_count, event_variance
        Failures k of the months before and the variance V of that count, as `weighted_interval` takes them.
    exposure
        Exposure T of the months before, for instance node-days, above 0.
    future_exposure
        Exposure t of the month, 0 or more.
    variation
        Variation between the months before.
    future_days
        Days of the month.
    exposure_variance
        Variance over squared mean of the future exposure, if it is a forecast as well.
    confidence_level
        1 - a, between 0 and 1.

    Returns
    -------
    CountForecast
        Of shape ().

    Raises
    ------
    ValueError
        No exposure before, negative values.

    Notes
    -----
    With ``phi = V / k``, the mean is ``(k / phi + 1/2) phi t / T``. The relative variance of the month's true mean is
    the sum of ``1 / (k / phi + 1/2)`` for the uncertainty of the rate, that of `MonthVariation.of_future` for months
    that differ, and that of the exposure. The count itself has ``phi`` times its mean as variance, because its failures
    come in incidents, too. The forecast is the negative binomial distribution with that mean and that variance.

    Assumptions: the month is like those seen. If the rate climbs, the forecast is too low.

    Examples
    --------
    60 failures, one by one, in three months of 10,000 node-days, and a fourth month like them:

    >>> from assets.model.month_variation import month_variation
    >>> months = month_variation([18, 24, 18], [10_000] * 3)
    >>> found = forecast_count(60, 60, 30_000, 10_000, months)
    >>> print(f"{found.mean:.1f} [{found.low:.0f}, {found.high:.0f}], log score of 22: {found.log_score(22):.2f}")
    20.2 [10, 32], log score of 22: -2.96
    """
    values = (event_count, event_variance, exposure, future_exposure, exposure_variance)
    if not all(np.isfinite(x) and x >= 0 for x in values) or exposure == 0:
        raise ValueError(f"a forecast needs exposure and counts of 0 or more, not {values!r}")
    phi = max(event_variance / event_count, 1.0) if event_count > 0 else 1.0
    counted = event_count / phi + PRIOR_EVENTS
    mean = counted * phi * future_exposure / exposure
    relative = 1.0 / counted + float(variation.of_future(future_days)) + exposure_variance
    # With a mean of 0 only the uncertainty is left, and any shape gives the same.
    shape = 1.0 / (relative + (phi - 1.0) / max(mean, MIN_MEAN))
    low, high = count_limits(np.asarray(mean), np.asarray(shape), confidence_level)
    return CountForecast(np.asarray(mean), np.asarray(shape), low, high, confidence_level)


def naive_log_score(last_count: float, last_exposure: float, future_exposure: float, count: float) -> float:
    """Score a naive forecast, in which the month is like the last: Poisson at the last month's rate.

    Parameters
    ----------
    last_count, last_exposure
        Failures and exposure of the month before, exposure above 0.
    future_exposure
        Exposure of the month, above 0.
    count
        What happened.

    Returns
    -------
    float
        Natural logarithm of the probability of `count` under a Poisson distribution of mean
        ``(k + 1/2) t / T``; with the half failure, a month without any does not rule out later ones.

    Examples
    --------
    >>> round(naive_log_score(18, 10_000, 10_000, 22), 2)
    -2.78
    """
    mean = (last_count + PRIOR_EVENTS) * future_exposure / last_exposure
    return float(special.xlogy(count, mean) - mean - special.gammaln(count + 1.0))
