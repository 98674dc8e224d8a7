"""The ratio of two rates with exact limits, and the p-value of the hypothesis that the rates are equal.

Given the total number of events, those of the first rate are binomial at any level of the rates, so that limits on the
split are limits on the ratio. Counts that scatter more than Poisson counts stand for fewer events.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from assets.model.failure_rate import CONFIDENCE_LEVEL, NO_EXPOSURE

CONDITIONAL_BINOMIAL = "conditional_binomial"
CONDITIONAL_BETA = "conditional_beta"
NO_EVENTS = "no_events"


@dataclass(frozen=True)
class RatioInterval:
    """Ratios of two rates with limits; all arrays have one shape.

    Attributes
    ----------
    value
        First rate over second, no unit; `nan` if the second has no event, or nothing is known.
    low, high
        Limits; `low` is 0 if the first rate has no event, `high` is `inf` if the second has none.
    p_value
        Two-sided, of the hypothesis that the rates are equal; below 1 - confidence_level exactly if the limits exclude
        1.
    confidence_level
        Nominal probability that [low, high] covers the true ratio.
    method
        `conditional_binomial`, `conditional_beta` (the same with counts that are not whole or come in incidents),
        `no_events` (neither rate has one) or `no_exposure`, element by element.
    """

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    p_value: NDArray[np.float64]
    confidence_level: float
    method: NDArray[np.str_]


def rate_ratio(
    event_count: ArrayLike,
    exposure: ArrayLike,
    other_event_count: ArrayLike,
    other_exposure: ArrayLike,
    confidence_level: float = CONFIDENCE_LEVEL,
    *,
    dispersion: ArrayLike = 1.0,
) -> RatioInterval:
    """Divide one rate of rare events by another.

    Parameters
    ----------
    event_count, exposure
        Events k1 over exposure T1, any shape; both 0 or more, `nan` for unknown. A count need not be whole: it may be a
        sum of probabilities.
    other_event_count, other_exposure
        Events k2 over exposure T2 of the rate to divide by, in the same unit.
    confidence_level
        1 - a, between 0 and 1.
    dispersion
        Common variance over mean of both counts, phi, 1 or more (`common_dispersion`).

    Returns
    -------
    RatioInterval
        Without any event the limits are 0 and `inf` and the p-value is 1: any ratio is possible.

    Raises
    ------
    ValueError
        Negative counts, negative or infinite exposure, a dispersion below 1, a level outside (0, 1).

    Notes
    -----
    ``ratio = (k1 / T1) / (k2 / T2)``. Given ``n = k1 + k2``, k1 is binomial with ``p = r T1 / (r T1 + T2)`` where r is
    the true ratio. Clopper and Pearson's limits of p are ``betaincinv(k1, k2 + 1, a/2)`` and
    ``betaincinv(k1 + 1, k2, 1 - a/2)``, and each gives ``r = p / (1 - p) * T2 / T1``. The p-value is twice the smaller
    tail at r = 1, at most 1. Counts of dispersion phi enter as ``k1 / phi`` and ``k2 / phi``: the Beta distribution
    takes any real number.

    Assumptions: phi is known and the same on both sides, and the border between two periods was not chosen because the
    rates differ there; otherwise the p-value means nothing. With few events the limits cover more often than nominal.

    References
    ----------
    J. Przyborowski and H. Wilenski, "Homogeneity of results in testing samples from Poisson series", Biometrika 31
    (1940) 313-323. C. J. Clopper and E. S. Pearson, Biometrika 26 (1934) 404-413.

    Examples
    --------
    >>> ratio = rate_ratio(11, 800, 21, 3011, confidence_level=0.95)
    >>> print(f"{ratio.value:.4f} [{ratio.low:.4f}, {ratio.high:.4f}]")
    1.9715 [0.8584, 4.2773]

    The same counts, of attempts that failed by twos:

    >>> ratio = rate_ratio(11, 800, 21, 3011, confidence_level=0.95, dispersion=2)
    >>> print(f"{ratio.value:.4f} [{ratio.low:.4f}, {ratio.high:.4f}] {ratio.method}")
    1.9715 [0.5653, 6.0527] conditional_beta
    """
    k1, t1, k2, t2, phi = np.broadcast_arrays(
        *(np.asarray(x, dtype=float) for x in (event_count, exposure, other_event_count, other_exposure, dispersion))
    )
    for count in (k1, k2):
        if np.any(count < 0):
            raise ValueError(f"event counts are 0 or more, not {count!r}")
    for time in (t1, t2):
        if np.any(time < 0) or np.any(np.isinf(time)):
            raise ValueError(f"an exposure is finite and 0 or more, not {time!r}")
    if np.any(phi < 1):
        raise ValueError(f"a dispersion is 1 or more, not {dispersion!r}")
    if not 0.0 < confidence_level < 1.0:
        raise ValueError(f"a confidence level lies between 0 and 1, not {confidence_level!r}")
    tail = (1.0 - confidence_level) / 2.0
    known = np.isfinite(k1) & np.isfinite(k2) & np.isfinite(phi) & (t1 > 0) & (t2 > 0)
    is_plain = (np.floor(k1) == k1) & (np.floor(k2) == k2) & (phi == 1)
    k1, t1, k2, t2 = (np.where(known, x, np.nan) for x in (k1 / phi, t1, k2 / phi, t2))
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = t2 / t1
        share_low = np.where(k1 > 0, special.betaincinv(_positive(k1), k2 + 1.0, tail), 0.0)
        share_high = np.where(k2 > 0, special.betaincinv(k1 + 1.0, _positive(k2), 1.0 - tail), 1.0)
        low = np.where(known, share_low / (1.0 - share_low) * scale, np.nan)
        high = np.where(known, share_high / (1.0 - share_high) * scale, np.nan)
        value = np.where(k2 > 0, k1 / k2 * scale, np.nan)
    share = t1 / (t1 + t2)
    at_most = special.betainc(_positive(k2), k1 + 1.0, 1.0 - share)
    at_least = special.betainc(_positive(k1), k2 + 1.0, share)
    smaller = np.minimum(np.where(k2 > 0, at_most, 1.0), np.where(k1 > 0, at_least, 1.0))
    p_value = np.where(known, np.minimum(1.0, 2.0 * smaller), np.nan)
    method = np.select(
        [~known, k1 + k2 == 0, is_plain], [NO_EXPOSURE, NO_EVENTS, CONDITIONAL_BINOMIAL], default=CONDITIONAL_BETA
    )
    return RatioInterval(value, low, high, p_value, confidence_level, method)


def common_dispersion(
    event_count: ArrayLike, event_variance: ArrayLike, other_event_count: ArrayLike, other_event_variance: ArrayLike
) -> NDArray[np.float64]:
    """Compute the common dispersion of two counts, for `rate_ratio`.

    Parameters
    ----------
    event_count, event_variance
        Count k1 and its variance V1, as `weighted_interval` takes them; any shape, `nan` for unknown.
    other_event_count, other_event_variance
        k2 and V2, broadcast.

    Returns
    -------
    ndarray
        The variance of log(k1 / k2) over that of Poisson counts, 1 or more; 1 if neither has an event.

    Notes
    -----
    ``(V1 / k1^2 + V2 / k2^2) / (1 / k1 + 1 / k2)``, the mean of both dispersions with more weight on the smaller
    count, because its scatter matters more to a ratio.

    Limitations: if one count is 0, only the dispersion of the other is known.

    Examples
    --------
    Ten failures by twos against a hundred one by one:

    >>> common_dispersion(10, 20, 100, 100).round(3).item()
    1.909
    """
    k1, v1, k2, v2 = np.broadcast_arrays(
        *(np.asarray(x, dtype=float) for x in (event_count, event_variance, other_event_count, other_event_variance))
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = [np.where(k > 0, 1.0 / k, 0.0) for k in (k1, k2)]
        ratios = [np.where(k > 0, v / k, 1.0) for k, v in ((k1, v1), (k2, v2))]
        mean = (weights[0] * ratios[0] + weights[1] * ratios[1]) / (weights[0] + weights[1])
    return np.where(np.isnan(k1 + k2), np.nan, np.maximum(np.where(k1 + k2 > 0, mean, 1.0), 1.0))


def _positive(count: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace counts of 0, whose limit does not come from the distribution, by a value that it accepts."""
    return np.where(count == 0, 1.0, count)
