"""How much of an attribution is chance: failed attempts compared with completed attempts under the same rules.

Counts in, ratios with limits out; the control is weighted to the sizes of the failed attempts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from assets.model.failure_rate import CONFIDENCE_LEVEL

CONTROLLED = "abbott_mover"
NO_CONTROL = "no_control"
NO_FAILURES = "no_failed_attempts"


@dataclass(frozen=True)
class Share:
    """A share of attempts, 0 to 1, with its limits; all `nan` without attempts."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ChanceResult:
    """An attribution compared with its control.

    Attributes
    ----------
    event_count, exposure
        Failed attempts with the evidence, and all failed attempts.
    attributed
        Share of failed attempts with the evidence.
    chance
        Share that would have it by chance: the control's, weighted to the sizes of the failed attempts.
    corrected
        Share of failed attempts that the evidence explains beyond chance.
    covered_ratio
        Share of the failed attempts with a size that the control has.
    confidence_level
        Nominal probability of each interval.
    method
        `abbott_mover`, `no_control` or `no_failed_attempts`.
    """

    event_count: int
    exposure: int
    attributed: Share
    chance: Share
    corrected: Share
    covered_ratio: float
    confidence_level: float
    method: str


UNKNOWN = Share(np.nan, np.nan, np.nan)


def binomial_share(event_count: float, trial_count: float, confidence_level: float = CONFIDENCE_LEVEL) -> Share:
    """Put exact limits on a share of attempts.

    Parameters
    ----------
    event_count, trial_count
        k of n attempts; 0 <= k <= n. They need not be whole: k may be a sum of probabilities.
    confidence_level
        1 - a, between 0 and 1.

    Returns
    -------
    Share
        ``low = Beta(a/2; k, n - k + 1)`` and ``high = Beta(1 - a/2; k + 1, n - k)`` quantiles; `nan` with n = 0.

    Raises
    ------
    ValueError
        Counts that are no share, a level outside (0, 1).

    Notes
    -----
    Assumptions: the attempts are independent. Those of one incident are not.

    References
    ----------
    C. Clopper and E. Pearson, "The use of confidence or fiducial limits", Biometrika 26 (1934) 404-413.

    Examples
    --------
    >>> share = binomial_share(4, 10, 0.95)
    >>> print(f"{share.value:.1f} [{share.low:.4f}, {share.high:.4f}]")
    0.4 [0.1216, 0.7376]
    """
    _check_level(confidence_level)
    k, n = event_count, trial_count
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is no share")
    if n == 0:
        return UNKNOWN
    tail = (1.0 - confidence_level) / 2.0
    low = 0.0 if k == 0 else float(special.betaincinv(k, n - k + 1, tail))
    high = 1.0 if k == n else float(special.betaincinv(k + 1, n - k, 1.0 - tail))
    return Share(k / n, low, high)


def standardised_rate(
    event_count: ArrayLike, exposure: ArrayLike, weight: ArrayLike, confidence_level: float = CONFIDENCE_LEVEL
) -> Share:
    """Carry the rates of several strata over to another mix of strata, with gamma limits.

    Parameters
    ----------
    event_count, exposure
        Per stratum, shape (s,): events, and what they were counted over, more than 0.
    weight
        Share of each stratum in the other mix, shape (s,); sums to 1.
    confidence_level
        1 - a, between 0 and 1.

    Returns
    -------
    Share
        ``y = sum(w k / n)``. With ``u = w / n``, ``v = sum(u^2 k)`` and ``m = max(u)``:
        ``low = v / (2 y) chi2(a/2; 2 y^2 / v)`` and
        ``high = (v + m^2) / (2 (y + m)) chi2(1 - a/2; 2 (y + m)^2 / (v + m^2))``.

    Raises
    ------
    ValueError
        Arrays of different lengths or none, an exposure of 0, weights that do not sum to 1, a level outside (0, 1).

    Notes
    -----
    Assumptions: events are Poisson within each stratum. The limits are conservative, most of all when a stratum of
    little exposure has a large weight.

    References
    ----------
    M. Fay and E. Feuer, "Confidence intervals for directly standardized rates: a method based on the gamma
    distribution", Statistics in Medicine 16 (1997) 791-801.

    Examples
    --------
    >>> rate = standardised_rate([2, 0], [1000, 500], [0.5, 0.5])
    >>> print(f"{rate.value:.4f} [{rate.low:.5f}, {rate.high:.5f}]")
    0.0010 [0.00018, 0.00434]
    """
    _check_level(confidence_level)
    k, n, w = (np.asarray(x, dtype=float) for x in (event_count, exposure, weight))
    if not (k.shape == n.shape == w.shape and k.ndim == 1 and k.size):
        raise ValueError("events, exposures and weights are lists of one length")
    if np.any(n <= 0) or np.any(k < 0) or abs(w.sum() - 1.0) > 1e-9:
        raise ValueError("exposures are above 0, events not below, and weights sum to 1")
    tail = (1.0 - confidence_level) / 2.0
    unit = w / n
    value, variance, largest = float(unit @ k), float(unit**2 @ k), float(unit.max())
    low = 0.0 if value == 0 else variance / value * float(special.gammaincinv(value**2 / variance, tail))
    above, spread = value + largest, variance + largest**2
    high = spread / above * float(special.gammaincinv(above**2 / spread, 1.0 - tail))
    return Share(value, low, high)


def chance_of_coincidence(
    failed_hits: ArrayLike,
    failed: ArrayLike,
    control_hits: ArrayLike,
    control: ArrayLike,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> ChanceResult:
    """Subtract the attributions expected by chance from those that were made.

    Parameters
    ----------
    failed_hits, failed
        Per size, shape (s,): failed attempts with the evidence, and all of them.
    control_hits, control
        Per size, shape (s,): the same of attempts that ended well.
    confidence_level
        1 - a, between 0 and 1, of each interval.

    Returns
    -------
    ChanceResult
        `chance` and `corrected` are `nan` if no size of the failed attempts has a control.

    Raises
    ------
    ValueError
        Lists of different lengths, hits beyond their attempts, a level outside (0, 1).

    Notes
    -----
    ``corrected = (a - p) / (1 - p)``, not below 0: a share p of the failed attempts that the evidence does not explain
    shows it anyway. Limits: ``a - p -/+ sqrt((a - l_a)^2 + (u_p - p)^2)`` and with the other sides, over ``1 - p``.

    Assumptions: attempts that ended well meet coincidences as often as failed attempts of the same size. In fact their
    run times differ. Some of them had a real fault; chance is then overstated, and the corrected share is too low.

    References
    ----------
    W. Abbott, "A method of computing the effectiveness of an insecticide", J. Economic Entomology 18 (1925) 265-267.
    G. Zou and A. Donner, "Construction of confidence limits about effect measures", Statistics in Medicine 27 (2008)
    1693-1702.

    Examples
    --------
    >>> found = chance_of_coincidence([30, 10], [1000, 100], [20, 5], [4000, 100])
    >>> f"{found.attributed.value:.4f} {found.chance.value:.4f} {found.corrected.value:.4f}"
    '0.0364 0.0091 0.0275'
    """
    failed_hits, failed, control_hits, control = (
        np.asarray(x, dtype=np.int64) for x in (failed_hits, failed, control_hits, control)
    )
    if not failed_hits.shape == failed.shape == control_hits.shape == control.shape:
        raise ValueError("hits and attempts are lists of one length")
    if np.any(control_hits > control) or np.any(failed_hits > failed) or np.any(control_hits < 0):
        raise ValueError("hits are among the attempts")
    event_count, exposure = int(failed_hits.sum()), int(failed.sum())
    attributed = binomial_share(event_count, exposure, confidence_level)
    known = (failed > 0) & (control > 0)
    covered = float(failed[known].sum() / exposure) if exposure else np.nan
    if exposure == 0 or not known.any():
        method = NO_FAILURES if exposure == 0 else NO_CONTROL
        return ChanceResult(event_count, exposure, attributed, UNKNOWN, UNKNOWN, covered, confidence_level, method)
    weight = failed[known] / failed[known].sum()
    rate = standardised_rate(control_hits[known], control[known], weight, confidence_level)
    # A rate may exceed 1, a share of attempts may not.
    chance = Share(rate.value, rate.low, min(rate.high, 1.0))
    corrected = _beyond(attributed, chance)
    return ChanceResult(event_count, exposure, attributed, chance, corrected, covered, confidence_level, CONTROLLED)


def _beyond(attributed: Share, chance: Share) -> Share:
    if chance.value >= 1:
        return UNKNOWN
    difference = attributed.value - chance.value
    down = np.hypot(attributed.value - attributed.low, chance.high - chance.value)
    up = np.hypot(attributed.high - attributed.value, chance.value - chance.low)
    limits: NDArray[np.float64] = np.clip(
        np.array([difference, difference - down, difference + up]) / (1.0 - chance.value), 0.0, 1.0
    )
    return Share(*(float(limit) for limit in limits))


def _check_level(confidence_level: float) -> None:
    if not 0.0 < confidence_level < 1.0:
        raise ValueError(f"a confidence level lies between 0 and 1, not {confidence_level!r}")
