"""Two rates against each other: their ratio with exact limits, and how likely so unequal a split is by chance.

Given how many events there were in all, those of the first rate are binomial, whatever the rates' level: limits on the
split are limits on the ratio.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from assets.model.failure_rate import CONFIDENCE_LEVEL, NO_EXPOSURE

CONDITIONAL_BINOMIAL = "conditional_binomial"
NO_EVENTS = "no_events"


@dataclass(frozen=True)
class RatioInterval:
    """Ratios of two rates with limits; all arrays have one shape.

    Attributes
    ----------
    value
        First rate over second, no unit; `nan` where the second has no event, or nothing is known.
    low, high
        Limits; `low` is 0 where the first rate has no event, `high` is `inf` where the second has none.
    p_value
        Two-sided, of the hypothesis that the rates are equal; below 1 - confidence_level exactly where the limits
        leave 1 out.
    confidence_level
        Nominal probability that [low, high] covers the true ratio.
    method
        `conditional_binomial`, `no_events` (neither rate has one) or `no_exposure`, element by element.
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
) -> RatioInterval:
    """Divide one Poisson rate by another.

    Parameters
    ----------
    event_count, exposure
        Events k1 over exposure T1, any shape; counts whole, both 0 or more, `nan` for unknown.
    other_event_count, other_exposure
        Events k2 over exposure T2 of the rate that it is divided by, in the same unit.
    confidence_level
        1 - a, between 0 and 1.

    Returns
    -------
    RatioInterval
        Without any event the limits are 0 and `inf` and the p-value is 1: any ratio is possible.

    Raises
    ------
    ValueError
        Negative or fractional counts, negative or infinite exposure, a level outside (0, 1).

    Notes
    -----
    ``ratio = (k1 / T1) / (k2 / T2)``. Of ``n = k1 + k2``, k1 is binomial with ``p = r T1 / (r T1 + T2)`` where r is
    the true ratio. Clopper and Pearson's limits of p are ``betaincinv(k1, k2 + 1, a/2)`` and
    ``betaincinv(k1 + 1, k2, 1 - a/2)``, and each gives ``r = p / (1 - p) * T2 / T1``. The p-value is twice the smaller
    tail at r = 1, at most 1.

    When it lies: it takes events to be independent. Failures that come in groups make it too narrow; compare
    incidents then. With few events it covers more often than it promises. A border between two periods that was chosen
    because the rates differ makes the p-value meaningless.

    References
    ----------
    J. Przyborowski and H. Wilenski, "Homogeneity of results in testing samples from Poisson series", Biometrika 31
    (1940) 313-323. C. J. Clopper and E. S. Pearson, Biometrika 26 (1934) 404-413.

    Examples
    --------
    >>> ratio = rate_ratio(11, 800, 21, 3011, confidence_level=0.95)
    >>> print(f"{ratio.value:.4f} [{ratio.low:.4f}, {ratio.high:.4f}]")
    1.9715 [0.8584, 4.2773]
    """
    k1, t1, k2, t2 = np.broadcast_arrays(
        *(np.asarray(x, dtype=float) for x in (event_count, exposure, other_event_count, other_exposure))
    )
    for count in (k1, k2):
        if np.any(count < 0) or np.any(np.floor(count) != count, where=~np.isnan(count)):
            raise ValueError(f"event counts are whole numbers of 0 or more, not {count!r}")
    for time in (t1, t2):
        if np.any(time < 0) or np.any(np.isinf(time)):
            raise ValueError(f"an exposure is finite and 0 or more, not {time!r}")
    if not 0.0 < confidence_level < 1.0:
        raise ValueError(f"a confidence level lies between 0 and 1, not {confidence_level!r}")
    tail = (1.0 - confidence_level) / 2.0
    known = np.isfinite(k1) & np.isfinite(k2) & (t1 > 0) & (t2 > 0)
    k1, t1, k2, t2 = (np.where(known, x, np.nan) for x in (k1, t1, k2, t2))
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = t2 / t1
        share_low = np.where(k1 > 0, special.betaincinv(np.maximum(k1, 1.0), k2 + 1.0, tail), 0.0)
        share_high = np.where(k2 > 0, special.betaincinv(k1 + 1.0, np.maximum(k2, 1.0), 1.0 - tail), 1.0)
        low = np.where(known, share_low / (1.0 - share_low) * scale, np.nan)
        high = np.where(known, share_high / (1.0 - share_high) * scale, np.nan)
        value = np.where(k2 > 0, k1 / k2 * scale, np.nan)
    share = t1 / (t1 + t2)
    at_most = special.betainc(np.maximum(k2, 1.0), k1 + 1.0, 1.0 - share)
    at_least = special.betainc(np.maximum(k1, 1.0), k2 + 1.0, share)
    smaller = np.minimum(np.where(k2 > 0, at_most, 1.0), np.where(k1 > 0, at_least, 1.0))
    p_value = np.where(known, np.minimum(1.0, 2.0 * smaller), np.nan)
    method = np.where(~known, NO_EXPOSURE, np.where(k1 + k2 > 0, CONDITIONAL_BINOMIAL, NO_EVENTS))
    return RatioInterval(value, low, high, p_value, confidence_level, method)
